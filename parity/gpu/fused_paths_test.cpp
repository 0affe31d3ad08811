// The fused kernels against the plain path in fp64, at the edges of their tiles: their error is that of bf16 operands,
// no more than the plain path's in bf16. One GPU.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "comm/world.hpp"
#include "layout/sharded.hpp"
#include "parity/gpu/against_fp64.hpp"
#include "trunk/pairformer/attention_pair_bias.hpp"
#include "trunk/transition.hpp"
#include "trunk/tri_mul_out.hpp"

namespace cpize::trunk {
namespace {

/// y, the gradient of x, those of the parameters in their order.
std::vector<at::Tensor> run(Transition& block, const at::Tensor& x, const at::Tensor& dy, bool residual) {
  for (auto& p : block->parameters()) p.mutable_grad() = at::Tensor();
  const at::Tensor leaf = x.detach().clone().requires_grad_();
  const at::Tensor y = residual ? block->residual_local(leaf) : block->forward_local(leaf);
  y.backward(dy);
  std::vector<at::Tensor> all{y.detach(), leaf.grad()};
  for (const auto& p : block->parameters()) all.push_back(p.grad());
  return all;
}

struct Size {
  std::int64_t rows, hidden;
};

class FusedTransition : public testing::TestWithParam<Size> {};

TEST_P(FusedTransition, IsAsRightAsThePlainPath) {
  const auto [rows, hidden] = GetParam();
  const auto device = at::TensorOptions(at::kCUDA);
  at::manual_seed(rows + hidden);
  Transition block(128, hidden);
  block->to(at::kCUDA);
  {
    at::NoGradGuard no_grad;
    for (auto& p : block->parameters())
      p.dim() == 1 ? p.add_(at::randn_like(p), 0.3)
                   : p.copy_((at::randn_like(p) / std::sqrt(double(p.size(1)))).to(at::kBFloat16));
  }
  const at::Tensor x = at::randn({rows, 128}, device).mul(2).add(0.5).to(at::kBFloat16);
  const at::Tensor dy = at::randn({rows, 128}, device).to(at::kBFloat16);
  for (const bool residual : {false, true}) {
    Transition wide(128, hidden);
    wide->to(at::kCUDA, at::kDouble);
    {
      at::NoGradGuard no_grad;
      for (std::size_t i = 0; i < block->parameters().size(); ++i) wide->parameters()[i].copy_(block->parameters()[i]);
    }
    const auto expected = run(wide, x.to(at::kDouble), dy.to(at::kDouble), residual);
    const auto in_bf16 = autocast();
    block->options.fused = true;
    const auto fused = run(block, x, dy, residual), again = run(block, x, dy, residual);
    block->options.fused = false;
    const auto plain = run(block, x, dy, residual);
    const char* const names[] = {"y", "x", "norm.weight", "norm.bias", "fc1", "fc2", "fc3"};
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_LT(relative_error(fused[i], expected[i]), 1.5 * relative_error(plain[i], expected[i]) + 1e-3)
          << names[i] << (residual ? " with residual" : "");
      EXPECT_TRUE(at::equal(fused[i], again[i])) << names[i] << " does not repeat";
    }
    const at::NoGradGuard no_grad;
    const at::Tensor own = x.clone();
    block->options.fused = true;
    if (residual) {
      EXPECT_TRUE(at::equal(block->residual_local(own, /*overwrite=*/true), fused[0]));
      EXPECT_TRUE(at::equal(own, fused[0])) << "the result takes the place of x";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, FusedTransition,
                         testing::Values(Size{1, 512}, Size{63, 512}, Size{64, 512}, Size{65, 32}, Size{191, 96},
                                         Size{192, 512}, Size{193, 512}, Size{4097, 512}, Size{30'011, 512},
                                         Size{132 * 192 + 1, 64}),
                         [](const auto& info) {
                           return std::to_string(info.param.rows) + "_rows_" + std::to_string(info.param.hidden) +
                                  "_hidden";
                         });

template <class Module>
void randomise(Module& module) {
  at::NoGradGuard no_grad;
  module->to(at::kCUDA);
  for (auto& p : module->parameters())
    p.dim() == 1 ? p.add_(at::randn_like(p), 0.3)
                 : p.copy_((at::randn_like(p) / std::sqrt(double(p.size(1)))).to(at::kBFloat16));
}

template <class Module>
void copy_parameters(Module& to, Module& from) {
  at::NoGradGuard no_grad;
  to->to(at::kCUDA, at::kDouble);
  for (std::size_t i = 0; i < from->parameters().size(); ++i) to->parameters()[i].copy_(from->parameters()[i]);
}

/// The value of f at copies of the inputs, then gradients of those that are floating and of the parameters.
template <class Module, class F>
std::vector<at::Tensor> results(Module& module, std::vector<at::Tensor> inputs, const at::Tensor& dy, F f) {
  for (auto& p : module->parameters()) p.mutable_grad() = at::Tensor();
  for (auto& x : inputs) x = x.detach().clone().requires_grad_();
  const at::Tensor y = f(inputs);
  y.backward(dy.to(y.scalar_type()));
  std::vector<at::Tensor> all{y.detach()};
  for (const auto& x : inputs) all.push_back(x.grad());
  for (const auto& p : module->parameters()) all.push_back(p.grad());
  return all;
}

MeshPtr one_gpu() {
  static comm::ProcessWorld world = comm::ProcessWorld::join({comm::BackendKind::nccl});
  return world.mesh(MeshShape(1, 1, 1));
}

class FusedPairs : public testing::TestWithParam<std::int64_t> {
 protected:
  const MeshPtr mesh = one_gpu();
};

/// z + tri_mul(z) in one pass, from a bf16 and from an fp32 residual stream.
TEST_P(FusedPairs, ResidualTriangleMultiplication) {
  const std::int64_t n = GetParam();
  at::manual_seed(n);
  TriMulOut block(128), wide(128);
  randomise(block);
  copy_parameters(wide, block);
  const at::Tensor z = at::randn({1, n, n, 128}, at::kCUDA).mul(2).add(0.5).to(at::kBFloat16);
  const at::Tensor dy = at::randn(z.sizes(), at::kCUDA).to(at::kBFloat16);
  const at::Tensor mask = (at::rand({1, n, n}, at::kCUDA) > 0.2).to(at::kBFloat16);
  const auto of = [&](TriMulOut& module) {
    return [&](const std::vector<at::Tensor>& in) {
      const auto sharded = wrap<Pair>(in[0], in[0].sizes().vec(), mesh);
      return module->residual(sharded, wrap<Pair>(mask.to(in[0].scalar_type()), mask.sizes().vec(), mesh)).local();
    };
  };
  const auto expected = results(wide, {z.to(at::kDouble)}, dy, of(wide));
  const auto in_bf16 = autocast();
  const auto fused = results(block, {z}, dy, of(block)), stream = results(block, {z.to(at::kFloat)}, dy, of(block));
  block->options.fused = false;
  const auto plain = results(block, {z}, dy, of(block));
  for (std::size_t i = 0; i < fused.size(); ++i) {
    const double allowed = 1.5 * relative_error(plain[i], expected[i]) + 1e-3;
    EXPECT_LT(relative_error(fused[i], expected[i]), allowed) << "result " << i << " of " << n;
    EXPECT_LT(relative_error(stream[i], expected[i]), allowed) << "fp32 stream, result " << i << " of " << n;
  }
  EXPECT_EQ(stream[0].scalar_type(), at::kFloat);
  block->options.fused = true;
  const at::NoGradGuard no_grad;
  const at::Tensor own = z.clone();
  const auto valid = wrap<Pair>(mask, mask.sizes().vec(), mesh);
  const at::Tensor y = block->residual(wrap<Pair>(own, own.sizes().vec(), mesh), valid, true).local();
  EXPECT_TRUE(at::equal(y, fused[0]));
  EXPECT_EQ(y.data_ptr(), own.data_ptr());
}

/// bf16 pairs, fp32 tokens: the kernels' bias is as right as fp32 arithmetic lets it be.
TEST_P(FusedPairs, AttentionPairBias) {
  const std::int64_t n = GetParam();
  at::manual_seed(n);
  AttentionPairBiasOptions options;
  AttentionPairBias block(options), wide(options);
  randomise(block);
  copy_parameters(wide, block);
  const at::Tensor z = at::randn({1, n, n, 128}, at::kCUDA).mul(2).add(0.5).to(at::kBFloat16);
  const at::Tensor s = at::randn({1, n, 384}, at::kCUDA), dy = at::randn({1, n, 384}, at::kCUDA);
  at::Tensor mask = (at::rand({1, n}, at::kCUDA) > 0.3).to(at::kFloat);
  if (n == 1) mask.zero_();  // a sample without a valid key attends to all of them
  const auto of = [&](AttentionPairBias& module) {
    return [&](const std::vector<at::Tensor>& in) {
      const auto tokens = wrap<Single>(in[0], in[0].sizes().vec(), mesh);
      return module
          ->forward(tokens, wrap<Pair>(in[1], in[1].sizes().vec(), mesh), wrap<Single>(mask, mask.sizes().vec(), mesh),
                    tokens)
          .local();
    };
  };
  const auto expected = results(wide, {s.to(at::kDouble), z.to(at::kDouble)}, dy, of(wide));
  const auto fused = results(block, {s, z}, dy, of(block));
  ASSERT_EQ(fused[2].scalar_type(), at::kBFloat16);
  for (std::size_t i = 0; i < fused.size(); ++i) {
    if (i == 9 || n == 1) {  // sums of gradients of scores over keys are zero: only rounding is left
      const double scale = std::max(expected[i].norm().item<double>(), expected[0].norm().item<double>());
      EXPECT_LT((fused[i].to(at::kDouble) - expected[i]).norm().item<double>(), 1e-4 * scale) << "result " << i;
      continue;
    }
    // z's gradient is rounded to bf16; X, from which the gradients of proj_z are made, has bf16 rows as operand.
    const bool narrow = i == 2 || (i >= 8 && i <= 10);
    EXPECT_LT(relative_error(fused[i], expected[i]), narrow ? 4e-3 : 1e-4) << "result " << i << " of " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, FusedPairs, testing::Values(1, 15, 16, 65, 131, 264));

}  // namespace
}  // namespace cpize::trunk
