#include "trunk/pairformer/attention_pair_bias.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "trunk/pairformer/pair_bias_function.hpp"

namespace cpize::trunk {

PairBiasProjectionImpl::PairBiasProjectionImpl(std::int64_t c_z, std::int64_t heads)
    : norm(register_module("0", Norm(c_z))), projection(register_module("1", Projection(c_z, heads))) {}

AttentionPairBiasImpl::AttentionPairBiasImpl(const AttentionPairBiasOptions& o)
    : options(o),
      proj_q(register_module("proj_q", BiasedProjection(o.c_s, o.c_s))),
      proj_k(register_module("proj_k", Projection(o.c_s, o.c_s))),
      proj_v(register_module("proj_v", Projection(o.c_s, o.c_s))),
      proj_g(register_module("proj_g", Projection(o.c_s, o.c_s))) {
  if (o.num_heads <= 0 || o.c_s % o.num_heads != 0)
    throw ConfigError("attention with pair bias: " + std::to_string(o.c_s) + " channels do not divide into " +
                      std::to_string(o.num_heads) + " heads");
  if (o.compute_pair_bias) proj_z = register_module("proj_z", PairBiasProjection(o.c_z, o.num_heads));
  proj_o = register_module("proj_o", Projection(o.c_s, o.c_s));
}

void AttentionPairBiasImpl::check(const Sharded<Single>& s, const Sharded<Pair>& z, const Sharded<Single>& mask,
                                  const Sharded<Single>& k_in) const {
  const Shape &queries = s.global(), &keys = k_in.global();
  const auto fail = [](const std::string& what) { throw ContractError("attention with pair bias: " + what); };
  if ((queries.size() != 3 && queries.size() != 4) || queries.back() != options.c_s)
    fail("s must be [B,Q," + std::to_string(options.c_s) + "], or [B,Q,M," + std::to_string(options.c_s) +
         "] for M copies of each sample");
  if (keys.size() != queries.size() || keys[0] != queries[0] || keys.back() != options.c_s ||
      (keys.size() == 4 && keys[2] != queries[2]))
    fail("k_in must be shaped as s, but for its number of tokens");
  const std::int64_t channels = options.compute_pair_bias ? options.c_z : options.num_heads;
  if (z.global() != Shape{queries[0], queries[1], keys[1], channels})
    fail((options.compute_pair_bias ? "z must be [B,Q,K," : "the given bias must be [B,Q,K,") +
         std::to_string(channels) + "] with B and Q of s and K of k_in");
  if (mask.global() != Shape{keys[0], keys[1]}) fail("the mask must be [B,K], one number a key, shared by all copies");
}

Sharded<Single> AttentionPairBiasImpl::forward(const Sharded<Single>& s, const Sharded<Pair>& z,
                                               const Sharded<Single>& mask, const Sharded<Single>& k_in) {
  check(s, z, mask, k_in);
  const auto q = s.with(at::linear(s.local(), proj_q->weight, proj_q->bias));
  const at::Tensor none = at::empty({0}, proj_k->weight.options());  // autograd functions take no undefined tensor
  PairBiasWeights weights{proj_k->weight, proj_v->weight, none, none, none};
  if (proj_z) {
    weights.norm = proj_z->norm->weight;
    weights.norm_bias = proj_z->norm->bias;
    weights.bias = proj_z->projection->weight;
  }
  const at::Tensor sums = pair_bias_attention(q, k_in, z, mask, weights, options);
  return s.with(at::linear(at::sigmoid(at::linear(s.local(), proj_g->weight)) * sums, proj_o->weight));
}

}  // namespace cpize::trunk
