#include "parity/end_to_end/lysozyme_slice.hpp"

#include <ATen/ATen.h>

#include "features/read_structure.hpp"
#include "features/token_features.hpp"
#include "parity/trunk/pair_slice_block.hpp"

namespace cpize::parity {
namespace {

const features::Features& lysozyme() {
  static const features::Features read = [] {
    const auto structure = features::read_structure(CPIZE_PARITY_DATA "/1aki.cif");
    return features::token_features(structure, features::tokenise(structure));
  }();
  return read;
}

/// `name` [N,...] or [N,N,...] cut to N tokens (repeated where more are asked for), floats in fp64.
ValueSource real_values(const std::string& name, int token_dims) {
  return [=](const Sizes& sizes, at::Generator&) {
    at::Tensor value = lysozyme().at(name);
    if (value.is_floating_point()) value = value.to(at::kDouble);
    std::vector<at::Tensor> samples;
    for (std::int64_t b = 0; b < sizes["B"]; ++b) {
      const at::Tensor tokens = at::arange(sizes["N"]).add(b).remainder(value.size(0));
      at::Tensor sample = value.index_select(0, tokens);
      if (token_dims == 2) sample = sample.index_select(1, tokens);
      samples.push_back(sample);
    }
    return at::stack(samples);
  };
}

}  // namespace

BlockCase lysozyme_slice(std::int64_t token_s, std::int64_t token_z) {
  BlockCase block("lysozyme");
  block.mask<Single>("token_pad_mask", {"B", "N"});
  for (const char* name :
       {"asym_id", "residue_index", "entity_id", "token_index", "sym_id", "cyclic_period", "deletion_mean"})
    block.feature<Single>(name, {"B", "N"}).values(real_values(name, 1)).masked_by("token_pad_mask");
  for (const char* name : {"res_type", "profile"})
    block.feature<Single>(name, {"B", "N", "33"}).values(real_values(name, 1)).masked_by("token_pad_mask");
  block.feature<Pair>("token_bonds", {"B", "N", "N", "1"})
      .values(real_values("token_bonds", 2))
      .masked_by("token_pad_mask");
  return as_pair_slice(block).size("C", token_z).size("token_s", token_s).zero_gradient({"token_bonds.weight"});
}

Run lysozyme_run(const BlockCase& block, const MeshShape& mesh, std::int64_t padding) {
  const std::int64_t tokens = lysozyme().at("token_index").size(0);
  Run run{"lysozyme", block.sizes(), MaskKind::prefix, tokens};
  run.sizes.set("B", mesh.extent(Axis::dp));
  run.sizes.set("N", tokens + padding);
  return run;
}

}  // namespace cpize::parity
