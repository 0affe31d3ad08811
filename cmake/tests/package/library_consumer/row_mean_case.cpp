// z[i,j,c] + w[c] mean_k z[i,k,c] over the valid k: a block, its port, and its parity case, in one file.
#include <torch/nn/module.h>

#include "layout/redistribute.hpp"
#include "parity/harness/block_parity.hpp"

using namespace cpize;
using namespace cpize::parity;

struct RowMean : torch::nn::Module {
  explicit RowMean(std::int64_t channels) { w = register_parameter("w", at::ones({channels}, at::kDouble)); }
  /// z [B,R,N,C] and its mask [B,R,N] with all columns of some rows.
  at::Tensor mean_of_rows(const at::Tensor& z, const at::Tensor& mask) const {
    const at::Tensor valid = mask.unsqueeze(-1);
    const at::Tensor sum = at::where(valid.ne(0), z, at::zeros_like(z)).sum(2, true);
    return w * sum / valid.sum(2, true).clamp_min(1);
  }
  at::Tensor w;
};

static Sharded<Pair> ported(const RowMean& block, const Sharded<Pair>& z, const Sharded<Pair>& mask) {
  const auto rows = redistribute<PairByRow>(z);
  const at::Tensor mean = block.mean_of_rows(rows.local(), redistribute<PairByRow>(mask).local());
  return redistribute<Pair>(rows.with(rows.local() + mean));
}

static BlockCase row_mean() {
  return BlockCase("row_mean")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Pair>("mask", {"B", "N", "N"})
      .output("y", {"B", "N", "N", "C"})
      .masked_by("mask")
      .serial([](const Sizes& s) { return std::make_shared<RowMean>(s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", in["z"] + block->mean_of_rows(in["z"], in["mask"])}};
              })
      .port([](const Sizes& s) { return std::make_shared<RowMean>(s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"y", ported(*block, in.get<Pair>("z"), in.get<Pair>("mask"))}};
            })
      .contraction({"N"});
}

CPIZE_PARITY_MAIN(row_mean)
