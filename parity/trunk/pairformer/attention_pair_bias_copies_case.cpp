// Parity of the attention with pair bias as a diffusion transformer calls it: M copies of each sample share a bias that
// is given, and keys come from other tokens than queries. Serial merges the copies into the batch, the sample outer.
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pairformer/attention_bytes.hpp"
#include "serial/attention_pair_bias.hpp"
#include "trunk/pairformer/attention_pair_bias.hpp"

using namespace cpize;
using namespace cpize::parity;

static constexpr int kCopies = 2;

static BlockCase attention_pair_bias_copies() {
  const auto merged = [](const at::Tensor& x) { return x.transpose(1, 2).flatten(0, 1); };  // [B,N,M,C] -> [B M,N,C]
  return BlockCase("attention_pair_bias_copies")
      .input<Single>("s", {"B", "N", "copies", "token_s"})
      .masked_by("mask")
      .input<Single>("k_in", {"B", "N", "copies", "token_s"})
      .masked_by("mask")
      .input<Pair>("bias", {"B", "N", "N", "heads"})
      .masked_by("mask")
      .mask<Single>("mask", {"B", "N"})
      .output("y", {"B", "N", "copies", "token_s"})
      .masked_by("mask")
      .serial(
          [](const Sizes& s) {
            return serial::AttentionPairBias(serial::AttentionPairBiasOptions{
                .c_s = s["token_s"], .num_heads = s["heads"], .compute_pair_bias = false});
          },
          [merged](auto& block, const Tensors& in) {
            const at::Tensor mask = in["mask"].repeat_interleave(kCopies, 0);
            const at::Tensor y = block(merged(in["s"]), in["bias"], mask, merged(in["k_in"]), kCopies);
            return Tensors{{"y", y.unflatten(0, {-1, kCopies}).transpose(1, 2)}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::AttentionPairBias(trunk::AttentionPairBiasOptions{
                .c_s = s["token_s"], .num_heads = s["heads"], .compute_pair_bias = false});
          },
          [](auto& block, const ShardedTensors& in) {
            return ShardedTensors{{"y", block(in.get<Single>("s"), in.get<Pair>("bias"), in.get<Single>("mask"),
                                              in.get<Single>("k_in"))}};
          })
      // Queries, keys, scores, the softmax, values, their sum, the output.
      .contraction({"token_s", "token_s", "token_s", "N", "token_s", "N", "token_s"})
      .size("token_s", 12)
      .size("heads", 3)
      .size("copies", kCopies)
      .precision_size({{"N", 37}, {"token_s", 24}})
      .fused_size({{"N", 97}, {"token_s", 384}, {"heads", 16}})
      .cost_size({{"N", 192}, {"token_s", 64}, {"heads", 16}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return attention_forward_bytes(p, kCopies); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return attention_backward_bytes(p, kCopies); })
      .bound("peak_bytes.forward",
             [](const CostPoint& p) { return (1 + kCopies) * p.b("heads") / 2 + attention_saved_bytes(p, kCopies); })
      .bound("peak_bytes.step",
             [](const CostPoint& p) { return (2 + kCopies) * p.b("heads") + 2 * attention_saved_bytes(p, kCopies); })
      .bound("saved_bytes", [](const CostPoint& p) { return attention_saved_bytes(p, kCopies); });
}

CPIZE_PARITY_MAIN(attention_pair_bias_copies)
