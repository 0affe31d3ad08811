// Parity of the attention with pair bias as the pairformer calls it: keys of the same tokens, bias from z.
#include "trunk/pairformer/attention_pair_bias.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pairformer/attention_bytes.hpp"
#include "serial/attention_pair_bias.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase attention_pair_bias() {
  return BlockCase("attention_pair_bias")
      .input<Single>("s", {"B", "N", "token_s"})
      .masked_by("mask")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Single>("mask", {"B", "N"})
      .output("y", {"B", "N", "token_s"})
      .masked_by("mask")
      .serial(
          [](const Sizes& s) {
            return serial::AttentionPairBias(
                serial::AttentionPairBiasOptions{.c_s = s["token_s"], .c_z = s["C"], .num_heads = s["heads"]});
          },
          [](auto& block, const Tensors& in) {
            return Tensors{{"y", block(in["s"], in["z"], in["mask"], in["s"])}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::AttentionPairBias(
                trunk::AttentionPairBiasOptions{.c_s = s["token_s"], .c_z = s["C"], .num_heads = s["heads"]});
          },
          [](auto& block, const ShardedTensors& in) {
            const auto s = in.get<Single>("s");
            return ShardedTensors{{"y", block(s, in.get<Pair>("z"), in.get<Single>("mask"), s)}};
          })
      .zero_gradient({"proj_z.0.bias"})  // the same number for all keys of a head: the softmax does not see it
      // Queries, keys or the norm and the bias, scores, the softmax, values, their sum, the output.
      .contraction({"token_s", "token_s", "C", "C", "token_s", "N", "token_s", "N", "token_s"})
      .size("token_s", 12)
      .size("heads", 3)
      .precision_size({{"N", 37}, {"C", 16}, {"token_s", 24}})
      .fused_size({{"N", 97}, {"C", 128}, {"token_s", 384}, {"heads", 16}})
      .cost_size({{"N", 192}, {"C", 64}, {"token_s", 64}, {"heads", 16}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return attention_forward_bytes(p); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return attention_backward_bytes(p); })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return p.b("heads") + attention_saved_bytes(p); })
      .bound("peak_bytes.step",
             [](const CostPoint& p) { return p.b() + 2 * p.b("heads") + 2 * attention_saved_bytes(p); })
      .bound("saved_bytes", [](const CostPoint& p) { return attention_saved_bytes(p); });
}

CPIZE_PARITY_MAIN(attention_pair_bias)
