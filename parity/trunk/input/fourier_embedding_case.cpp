// Parity of the Fourier embedding, on numbers of pairs.
#include "trunk/input/fourier_embedding.hpp"

#include <algorithm>

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/input/conditioning_features.hpp"
#include "serial/fourier_embedding.hpp"

using namespace cpize;
using namespace cpize::parity;

/// A shard of y, which is in fp32 where activations are narrower (and then comes in a copy of its gradient, too).
static double shard_of_y(const CostPoint& p) { return p.b() * std::max(1., 4 / p.element_bytes); }

static BlockCase fourier_embedding() {
  return BlockCase("fourier_embedding")
      .mask<Single>("token_pad_mask", {"B", "N"})  // not read: says where the padding is
      .input<Pair>("t", {"B", "N", "N"})
      .masked_by("token_pad_mask")
      .output("y", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .serial([](const Sizes& s) { return serial::FourierEmbedding(s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(in["t"])}};
              })
      .port([](const Sizes& s) { return trunk::FourierEmbedding(s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"y", block(in.get<Pair>("t"))}};
            })
      // An angle of a few turns is rounded to eps times its size, which the cosine keeps: as 100 roundings of one.
      .contraction({"100", "C"})
      .zero_gradient(frozen_projection())
      .cost_size({{"N", 96}, {"C", 32}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 3 * shard_of_y(p); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return (p.element_bytes < 4 ? 6 : 5) * shard_of_y(p); })
      .bound("saved_bytes", [](const CostPoint& p) { return shard_of_y(p) + 4096; });
}

CPIZE_PARITY_MAIN(fourier_embedding)
