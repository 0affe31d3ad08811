// Parity of the distogram head, in both forms: few bins, where their map travels, and many, where z does.
#include "trunk/heads/distogram.hpp"

#include <algorithm>

#include "parity/harness/block_parity.hpp"
#include "serial/distogram.hpp"

using namespace cpize;
using namespace cpize::parity;

namespace {

/// A narrow and a wide head on one z.
template <class Head>
struct TwoHeads : torch::nn::Module {
  explicit TwoHeads(const Sizes& s)
      : narrow(register_module("narrow", Head(s["C"], s["few"]))),
        wide(register_module("wide", Head(s["C"], s["many"], s["D"]))) {}
  Head narrow, wide;
};

/// Bytes of `channels` a pair that the busiest rank sends: of its rows and columns, all that its own transposed block
/// does not hold. With blocks of n0 x n1, the rank whose rows and columns meet the least keeps the least.
double transposed_bytes(const CostPoint& p, double channels) {
  const auto cut = [](std::int64_t n, int parts, int k) { return n * k / parts; };
  const std::int64_t n = p.sizes["N"];
  const int rows = p.mesh.extent(Axis::cp0), columns = p.mesh.extent(Axis::cp1);
  std::int64_t most = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const std::int64_t r0 = cut(n, rows, i), r1 = cut(n, rows, i + 1), c0 = cut(n, columns, j),
                         c1 = cut(n, columns, j + 1);
      // It needs pairs (c, r) with c its columns, r its rows; it has (r, c). Both: rows and columns in the overlap.
      const std::int64_t overlap = std::max<std::int64_t>(0, std::min(r1, c1) - std::max(r0, c0));
      most = std::max(most, (r1 - r0) * (c1 - c0) - overlap * overlap);
    }
  return p.element_bytes * static_cast<double>(most) * channels;
}

double channels_sent(const CostPoint& p) {
  return static_cast<double>(p.sizes["few"] + std::min(p.sizes["C"], p.sizes["many"] * p.sizes["D"]));
}

}  // namespace

static BlockCase distogram() {
  return BlockCase("distogram")
      .mask<Single>("token_pad_mask", {"B", "N"})  // not read: says where the padding is
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .output("narrow", {"B", "N", "N", "1", "few"})
      .masked_by("token_pad_mask")
      .output("wide", {"B", "N", "N", "D", "many"})
      .masked_by("token_pad_mask")
      .size("few", 5)
      .size("many", 6)
      .size("D", 2)
      .serial([](const Sizes& s) { return std::make_shared<TwoHeads<serial::DistogramModule>>(s); },
              [](auto& heads, const Tensors& in) {
                return Tensors{{"narrow", heads->narrow(in["z"])}, {"wide", heads->wide(in["z"])}};
              })
      .port([](const Sizes& s) { return std::make_shared<TwoHeads<trunk::DistogramModule>>(s); },
            [](auto& heads, const ShardedTensors& in) {
              const auto z = in.get<Pair>("z");
              return ShardedTensors{{"narrow", heads->narrow(z)}, {"wide", heads->wide(z)}};
            })
      .contraction({"2", "C", "many"})
      .cost_size({{"N", 96}, {"C", 32}, {"few", 16}, {"many", 32}, {"D", 1}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return transposed_bytes(p, channels_sent(p)); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return transposed_bytes(p, channels_sent(p)); })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 4 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 6 * p.b(); })
      .bound("saved_bytes", [](const CostPoint& p) { return p.b() + 4096; });
}

CPIZE_PARITY_MAIN(distogram)
