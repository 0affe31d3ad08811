#include "profile/profiled_trunk.hpp"

#include "parity/trunk/recycling/trunk_block.hpp"

namespace cpize::profile {
namespace {

const std::vector<std::string> kScopes{"zero_padding",     "input_embedder", "pair_init",
                                       "recycling",        "msa_module",     "pairformer_module",
                                       "distogram_module", "bfactor_module", "reduce_gradients"};

bool belongs(const std::string& parameter, const std::string& scope) {
  const auto under = [&](const char* prefix) { return parameter.starts_with(prefix); };
  if (scope == "reduce_gradients") return true;
  if (scope == "input_embedder") return under("input_embedder.") || under("s_init.");
  if (scope == "pair_init")
    return under("z_init_") || under("rel_pos.") || under("token_bonds") || under("contact_conditioning.");
  if (scope == "recycling") return under("s_norm.") || under("z_norm.") || under("s_recycle.") || under("z_recycle.");
  return under((scope + ".").c_str());
}

std::vector<ScopeBudget> budgets(const parity::CostPoint& p,
                                 const std::function<double(const std::string&)>& parameters) {
  const double b = pair_shard_bytes(p), t = token_channel_bytes(p);
  const double channel = b / static_cast<double>(p.sizes["C"]), s = t * static_cast<double>(p.sizes["token_s"]);
  const double m = t * static_cast<double>(p.sizes["S"] * p.sizes["C"] / 2);  // a shard of the MSA track
  const double u = t * static_cast<double>(p.sizes["S"] * 256);               // of the averages: 8 heads of 32
  const double lines = t * (p.mesh.extent(Axis::cp0) + p.mesh.extent(Axis::cp1));
  const double features = t * 80 + 10 * 8 * t / p.element_bytes, layers = static_cast<double>(p.sizes["blocks"]);
  const double distances = 16 * channel;  // bins of the distogram
  std::vector<ScopeBudget> all{
      {"zero_padding", 12 * channel + 2 * features + 4 * lines, 9 * channel + features + 2 * lines,
       12 * channel + 2 * features + 4 * lines, "9 channels of pair features, twice the token features"},
      {"input_embedder", 4 * s + 2 * features, 3 * s + features, 6 * s + 2 * features,
       "2 shards of s, 4 with backward"},
      {"pair_init", 2 * b, b + 16 * channel + s + lines * 16, 3 * b, "header of the port: 2 b, 3 b with backward"},
      {"recycling", 3 * b + 3 * s, b + 3 * s, 4 * b + 4 * s, "z0 + the recycled term; recomputed in backward"},
      {"msa_module", 8 * b + 8 * m + 3 * u, 9 * b + 5 * m + u, 14 * b + 12 * m + 3 * u,
       "one layer: a pair track, and by panels the outer product mean and averages (values, gates, result)"},
      {"pairformer_module", (8 + 7 * layers) * b + 8 * layers * s, 13 * layers * b + 8 * layers * s,
       (8 + 13 * layers) * b + 12 * layers * s, "a layer saves 2 x 3 b, 2 x 2 b, and its residuals; one works"},
      {"distogram_module", 5 * distances, 3 * distances, 8 * distances + b, "logits, their transpose"},
      {"bfactor_module", s, s, 2 * s, "8 bins a token"},
      {"reduce_gradients", 4096, 4096, 4096, "parameters alone: one flat sum, rounded up to an allocation"},
  };
  for (auto& budget : all) {
    const double own = parameters(budget.scope);
    budget.forward += own;  // weights in the dtype of the operands
    budget.saved += own;
    budget.step += 2 * own;
  }
  return all;
}

ScopeBudget whole(const parity::CostPoint& p, double parameter_bytes) {
  const double b = pair_shard_bytes(p), layers = static_cast<double>(p.sizes["blocks"]);
  return {"step", (16 + 13 * layers) * b + parameter_bytes, (12 + 13 * layers) * b + parameter_bytes,
          (22 + 13 * layers) * b + 2 * parameter_bytes,
          "what the modules save, and what the largest of them works with"};
}

}  // namespace

ProfiledModel profiled_trunk() {
  return {"the trunk",
          parity::random_trunk("trunk", {.recycling_steps = 1})
              .cost_size({{"N", 64}, {"C", 32}, {"token_s", 64}, {"S", 32}, {"blocks", 1}}),
          kScopes,
          budgets,
          whole,
          belongs};
}

}  // namespace cpize::profile
