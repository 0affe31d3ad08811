// Random token features, for the cases whose blocks read them: as the feature readers make them.
#pragma once
#include <ATen/ATen.h>

#include "parity/harness/block_case.hpp"
#include "serial/relative_position_encoder.hpp"
#include "serial/token_input_embedder.hpp"
#include "trunk/relative_position.hpp"
#include "trunk/token_input_embedder.hpp"

namespace cpize::parity {

/// Integers in [0, bound) times `step`, one a token.
inline ValueSource token_ids(std::int64_t bound, std::int64_t step = 1) {
  return [=](const Sizes& s, at::Generator& g) {
    return at::randint(0, bound, {s["B"], s["N"]}, g, at::TensorOptions().dtype(at::kLong)) * step;
  };
}
inline at::Tensor uniform(at::IntArrayRef shape, at::Generator& g) {
  return at::rand(shape, g, at::TensorOptions().dtype(at::kDouble));
}

/// Declares the ids of relative position: few chains, entities and copies, and offsets on both sides of the clipping.
inline BlockCase with_position(BlockCase block) {
  const std::vector<std::pair<const char*, ValueSource>> ids{
      {"asym_id", token_ids(2)},      {"residue_index", token_ids(60)}, {"entity_id", token_ids(2)},
      {"token_index", token_ids(90)}, {"sym_id", token_ids(5)},         {"cyclic_period", token_ids(2, 12)}};
  for (const auto& [name, values] : ids)
    block.feature<Single>(name, {"B", "N"}).values(values).masked_by("token_pad_mask");
  return block;
}

inline BlockCase with_input(BlockCase block) {
  const auto res_type = [](const Sizes& s, at::Generator& g) { return at::one_hot(token_ids(33)(s, g), 33); };
  const auto profile = [](const Sizes& s, at::Generator& g) { return uniform({s["B"], s["N"], 33}, g); };
  const auto deletion_mean = [](const Sizes& s, at::Generator& g) { return uniform({s["B"], s["N"]}, g); };
  block.feature<Single>("res_type", {"B", "N", "33"}).values(res_type).masked_by("token_pad_mask");
  block.feature<Single>("profile", {"B", "N", "33"}).values(profile).masked_by("token_pad_mask");
  block.feature<Single>("deletion_mean", {"B", "N"}).values(deletion_mean).masked_by("token_pad_mask");
  return block;
}

inline BlockCase with_bonds(BlockCase block) {
  const auto bonds = [](const Sizes& s, at::Generator& g) {
    return (uniform({s["B"], s["N"], s["N"], 1}, g) > 0.7).to(at::kDouble);
  };
  block.feature<Pair>("token_bonds", {"B", "N", "N", "1"}).values(bonds).masked_by("token_pad_mask");
  return block;
}

/// Bytes of `channels` a token, to the ranks that need it: the other cp1 - 1 of its row, and the cp0 of a column. A
/// rank that holds tokens of its own column saves itself one; on a true grid the others hold none of theirs.
inline double token_bytes(const CostPoint& p, double channels) {
  const int rows = p.mesh.extent(Axis::cp0), columns = p.mesh.extent(Axis::cp1);
  const double tokens = static_cast<double>(p.sizes["N"]) / p.q();
  return p.element_bytes * tokens * channels * (columns - 1 + (columns > 1 && rows > 1 ? rows : rows - 1));
}

inline trunk::RelativePositionFeatures position_of(const ShardedTensors& in) {
  const auto id = [&](const char* name) { return in.get<Single>(name); };
  return {id("asym_id"), id("residue_index"), id("entity_id"), id("token_index"), id("sym_id"), id("cyclic_period")};
}
inline trunk::TokenInputFeatures input_of(const ShardedTensors& in) {
  return {in.get<Single>("res_type"), in.get<Single>("profile"), in.get<Single>("deletion_mean")};
}
/// For the serial blocks' `from`.
inline serial::FeatureSource source_of(const Tensors& in) {
  return [&in](const std::string& name) { return in[name]; };
}

}  // namespace cpize::parity
