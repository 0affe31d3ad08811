#include "features/token_features.hpp"

#include <sstream>

#include "error/error.hpp"
#include "features/contact_features.hpp"
#include "features/methods.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

at::Tensor zeros_of(std::string_view name, int64_t tokens) {
  const FeatureSpec& spec = feature_spec(name);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < spec.rank(); ++i) {
    sizes.push_back(spec.dimensions[i].axis == FeatureAxis::tokens ? tokens : spec.dimensions[i].size);
  }
  return at::zeros(sizes, torch_dtype(spec.type));
}

template <typename T>
std::string text_of(const T& value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

void check_mask(const std::string& name, const at::Tensor& mask) {
  if (!((mask == 0) | (mask == 1)).all().item<bool>()) {
    throw ContractError("mask feature '" + name + "' holds values other than 0 and 1");
  }
}

/// The size of an axis, and the feature that showed it first.
struct AxisSize {
  int64_t size;
  std::string first;
};

void check_msa_is_whole(const Features& features) {
  for (const auto& spec : kFeatureSpecs) {
    if (spec.layout == "Msa" && features.find(std::string(spec.name)) == features.end()) {
      throw ContractError("feature '" + std::string(spec.name) +
                          "' is absent, but other MSA features are there; expected " + shape_text(spec));
    }
  }
}

}  // namespace

at::ScalarType torch_dtype(FeatureType type) { return type == FeatureType::float32 ? at::kFloat : at::kLong; }

Features token_features(const Structure& structure, const TokenisedStructure& tokenised, bool with_coordinates) {
  const auto count = static_cast<int64_t>(tokenised.tokens.size());
  if (count == 0) throw InputError(structure.source, "has no tokens");
  Features features;
  for (const auto& spec : kFeatureSpecs) {
    if (!spec.optional || (with_coordinates && spec.layout != "Msa"))
      features[std::string(spec.name)] = zeros_of(spec.name, count);
  }
  const auto integers = [&](const char* name) { return features.at(name).accessor<int64_t, 1>(); };
  auto token_index = integers("token_index"), residue_index = integers("residue_index"), asym_id = integers("asym_id");
  auto entity_id = integers("entity_id"), sym_id = integers("sym_id"), mol_type = integers("mol_type");
  auto cyclic_period = integers("cyclic_period"), modified = integers("modified");
  auto res_type = features.at("res_type").accessor<int64_t, 2>();
  auto resolved = features.at("token_resolved_mask").accessor<float, 1>();
  for (int64_t i = 0; i < count; ++i) {
    const Token& token = tokenised.tokens[static_cast<size_t>(i)];
    const Chain& chain = structure.chains[static_cast<size_t>(token.chain)];
    token_index[i] = i;
    residue_index[i] = chain.residues[static_cast<size_t>(token.residue)].position - 1;
    asym_id[i] = token.chain;
    entity_id[i] = chain.entity_index;
    sym_id[i] = chain.sym_id;
    mol_type[i] = static_cast<int64_t>(token.mol_type);
    cyclic_period[i] = chain.cyclic_period;
    modified[i] = chain.is_polymer() && !token.atom.empty() ? 1 : 0;
    res_type[i][token.res_type] = 1;
    resolved[i] = token.centre ? 1.0F : 0.0F;
    if (with_coordinates && token.distogram) {
      features.at("token_disto_mask")[i] = 1;
      for (int64_t k = 0; k < 3; ++k) features.at("disto_center")[i][k] = (*token.distogram)[static_cast<size_t>(k)];
    }
  }
  features.at("token_pad_mask").fill_(1);
  features.at("profile").copy_(features.at("res_type"));
  auto bonds = features.at("token_bonds").accessor<float, 3>();
  auto types = features.at("type_bonds").accessor<int64_t, 2>();
  for (size_t b = 0; b < tokenised.bonds.size(); ++b) {
    const auto [i, j] = tokenised.bonds[b];
    bonds[i][j][0] = bonds[j][i][0] = 1;
    types[i][j] = types[j][i] = 1 + static_cast<int64_t>(tokenised.bond_types.at(b));
  }
  features.at("method_feature")
      .fill_(structure.method.empty() ? kDefaultMethod : method_id(structure.method).value_or(kOtherMethod));
  features.at("contact_conditioning").select(2, static_cast<int64_t>(ContactClass::unspecified)).fill_(1);
  return features;
}

int64_t check_features(const Features& features, bool batched) {
  const int64_t lead = batched ? 1 : 0;
  int64_t batch = -1;
  std::map<FeatureAxis, AxisSize> axes;
  for (const auto& [name, tensor] : features) {
    const FeatureSpec& spec = feature_spec(name);
    const auto expected = std::string(batched ? "[B] + " : "") + shape_text(spec);
    if (!tensor.defined()) throw ContractError("feature '" + name + "' is an undefined tensor");
    if (tensor.dim() != lead + static_cast<int64_t>(spec.rank())) {
      throw ContractError("feature '" + name + "' has shape " + text_of(tensor.sizes()) + "; expected " + expected);
    }
    if (tensor.scalar_type() != torch_dtype(spec.type)) {
      throw ContractError("feature '" + name + "' is " + text_of(tensor.scalar_type()) + "; expected " +
                          std::string(name_of(spec.type)));
    }
    if (batched && batch < 0) batch = tensor.size(0);
    if (batched && tensor.size(0) != batch) {
      throw ContractError("feature '" + name + "' has batch size " + text_of(tensor.size(0)) + ", others " +
                          text_of(batch));
    }
    for (size_t i = 0; i < spec.rank(); ++i) {
      const int64_t size = tensor.size(lead + static_cast<int64_t>(i));
      const FeatureAxis axis = spec.dimensions[i].axis;
      const auto known = axis == FeatureAxis::fixed ? AxisSize{spec.dimensions[i].size, ""}
                                                    : axes.try_emplace(axis, AxisSize{size, name}).first->second;
      if (size != known.size) {
        const std::string why = known.first.empty()
                                    ? " fixed columns"
                                    : " " + std::string(name_of(axis)) + ", as '" + known.first + "' has";
        throw ContractError("feature '" + name + "' has shape " + text_of(tensor.sizes()) + "; dimension " +
                            std::to_string(i) + " must be " + std::to_string(known.size) + why + " (" + expected + ")");
      }
    }
    if (name.ends_with("_mask")) check_mask(name, tensor);
  }
  for (const auto& spec : kFeatureSpecs) {
    if (!spec.optional && features.find(std::string(spec.name)) == features.end()) {
      throw ContractError("feature '" + std::string(spec.name) + "' is absent; expected " + shape_text(spec));
    }
  }
  if (axes.count(FeatureAxis::msa_rows) > 0) check_msa_is_whole(features);
  return axes.at(FeatureAxis::tokens).size;
}

int64_t msa_depth(const Features& features, bool batched) {
  const auto msa = features.find("msa");
  return msa == features.end() ? 0 : msa->second.size(batched ? 1 : 0);
}

}  // namespace cpize::features
