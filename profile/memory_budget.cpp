#include "profile/memory_budget.hpp"

namespace cpize::profile {
namespace {

double element_bytes(const SliceSize& size) { return static_cast<double>(c10::elementSize(size.dtype)); }

double largest(std::int64_t extent, int parts) { return static_cast<double>((extent + parts - 1) / parts); }

}  // namespace

/// Of the largest shard: balanced shards of an uneven size differ by one row or column.
double pair_shard_bytes(const SliceSize& size, const MeshShape& mesh) {
  return element_bytes(size) * largest(size.batch, mesh.extent(Axis::dp)) *
         largest(size.tokens, mesh.extent(Axis::cp0)) * largest(size.tokens, mesh.extent(Axis::cp1)) *
         static_cast<double>(size.channels);
}

double token_channel_bytes(const SliceSize& size, const MeshShape& mesh) {
  return element_bytes(size) * largest(size.batch, mesh.extent(Axis::dp)) * largest(size.tokens, mesh.cp_size());
}

std::vector<ScopeBudget> slice_budgets(const SliceSize& size, const MeshShape& mesh,
                                       const std::function<std::int64_t(const std::string&)>& parameters) {
  const double b = pair_shard_bytes(size, mesh), t = token_channel_bytes(size, mesh);
  const double channel = b / static_cast<double>(size.channels), s = t * static_cast<double>(size.token_s);
  // 67 channels of residue type, profile and deletions, 6 ids of 8 bytes, the mask.
  const double features = t * 68 + 6 * 8 * t / element_bytes(size);
  // Token masks and projected tokens of whole rows and columns: at most a line of the mesh.
  const double lines = t * (mesh.extent(Axis::cp0) + mesh.extent(Axis::cp1));
  std::vector<ScopeBudget> budgets{
      {"zero_padding", 4 * channel + 2 * features + 4 * lines, 2 * channel + features + 2 * lines,
       4 * channel + 2 * features + 4 * lines, "4 channels of a pair, twice the token features"},
      {"input_embedder", 2 * s + 2 * features, features + s, 4 * s + 2 * features,
       "2 shards of s_inputs, 4 with backward; pair_init saves s_inputs"},
      {"pair_init", 2 * b, channel + s + lines * 16, 3 * b, "header of the port: 2 b, 3 b with backward"},
      {"tri_mul_out", 5 * b, 3 * b, 7 * b, "cost table: 5 b, 3 b saved, 8 b with the output gradient"},
      {"tri_mul_in", 5 * b, 3 * b, 7 * b, "cost table: 5 b, 3 b saved, 8 b with the output gradient"},
      {"transition_z", 2 * b, 0.1 * b, 3 * b, "header of the port: 1.5 b, 3 b with backward"},
      {"reduce_gradients", 0, 0, 0, "parameters alone: one flat sum"},
  };
  for (auto& budget : budgets) {
    const auto own = static_cast<double>(parameters(budget.scope));
    budget.forward += own;  // weights in the dtype of the operands
    budget.saved += own;
    budget.step += 2 * own;
  }
  return budgets;
}

ScopeBudget step_budget(const SliceSize& size, const MeshShape& mesh, std::int64_t parameter_bytes) {
  const double b = pair_shard_bytes(size, mesh), p = static_cast<double>(parameter_bytes);
  return {"step", 14 * b + p, 10 * b + p, 15 * b + 2 * p,
          "4 outputs, 2 x 3 b saved, and what one triangle multiplication adds in backward (5 b)"};
}

}  // namespace cpize::profile
