#include "parity/end_to_end/lysozyme_slice.hpp"

#include <ATen/ATen.h>

#include "features/read_structure.hpp"
#include "features/token_features.hpp"
#include "parity/trunk/slice_features.hpp"
#include "serial/pair_slice.hpp"
#include "trunk/pair_slice.hpp"

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
  return block.output("z", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .padding_is_nan()
      .size("C", token_z)
      .size("token_s", token_s)
      .zero_gradient({"token_bonds.weight"})
      .serial(
          [](const Sizes& s) {
            return serial::PairSlice(serial::PairSliceOptions{.token_s = s["token_s"], .rel_pos = {.token_z = s["C"]}});
          },
          [](auto& slice, const Tensors& in) {
            return Tensors{{"z", slice(serial::PairSliceFeatures::from(source_of(in)))}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairSlice(trunk::PairSliceOptions{.token_s = s["token_s"], .rel_pos = {.token_z = s["C"]}});
          },
          [](auto& slice, const ShardedTensors& in) {
            return ShardedTensors{
                {"z", slice(trunk::PairSliceFeatures{input_of(in), position_of(in), in.get<Pair>("token_bonds"),
                                                     in.get<Single>("token_pad_mask")})}};
          })
      // Embedder; projections and columns; twice norm, projection, triangles, norm, projection; the transition.
      .contraction(
          {"67", "token_s", "8", "C", "C", "N", "C", "C", "C", "C", "N", "C", "C", "C", "C", "C", "C", "C", "C"});
}

Run lysozyme_run(const BlockCase& block, const MeshShape& mesh, std::int64_t padding) {
  const std::int64_t tokens = lysozyme().at("token_index").size(0);
  Run run{"lysozyme", block.sizes(), MaskKind::prefix, tokens};
  run.sizes.set("B", mesh.extent(Axis::dp));
  run.sizes.set("N", tokens + padding);
  return run;
}

}  // namespace cpize::parity
