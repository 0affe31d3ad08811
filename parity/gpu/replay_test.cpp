// A forward replayed as a CUDA graph gives the bits of the forward itself, for inputs other than those at capture. One
// GPU.
#include "trunk/replay.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "error/error.hpp"
#include "trunk/transition.hpp"

namespace cpize::trunk {
namespace {

TEST(Replay, GivesTheBitsOfTheForwardItself) {
  at::manual_seed(7);
  const at::NoGradGuard no_grad;
  Transition block(128, 512);
  block->to(at::kCUDA, at::kBFloat16);
  for (auto& p : block->parameters()) p.copy_(at::randn_like(p) / std::sqrt(double(p.size(-1))));
  const auto input = [] { return at::randn({40, 50, 128}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16)); };
  Replay replay([&](const std::vector<at::Tensor>& in) { return std::vector{block->forward_local(in[0])}; }, {input()});
  for (int call = 0; call < 3; ++call) {
    const at::Tensor x = input(), y = replay({x})[0];
    EXPECT_TRUE(at::equal(y, block->forward_local(x)));
  }
  const at::Tensor x = input(), before = replay({x})[0].clone();
  block->fc3->weight.neg_();  // in its place: the graph reads what is there
  EXPECT_TRUE(at::equal(replay({x})[0], -before));
}

TEST(Replay, TakesTheFormOfItsCaptureAlone) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::ones({4, 8}, at::kCUDA);
  Replay replay([](const std::vector<at::Tensor>& in) { return std::vector{in[0] + 1}; }, {x});
  EXPECT_THROW(replay({at::ones({4, 9}, at::kCUDA)}), ContractError);
  EXPECT_THROW(replay({x.to(at::kHalf)}), ContractError);
  EXPECT_THROW(replay({x, x}), ContractError);
  EXPECT_TRUE(at::equal(replay({x + 3})[0], x + 4));
  EXPECT_THROW(Replay([](const std::vector<at::Tensor>& in) { return in; }, {at::ones({1})}), ContractError);
}

}  // namespace
}  // namespace cpize::trunk
