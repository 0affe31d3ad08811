// Triangle attention by kernels of ours, and by the library's attention, against the plain path in fp64: at the edges
// of their tiles, with rows that are masked throughout, with scores beyond the range of their fast softmax, past 2^31
// and 2^32 elements. One GPU.
#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <gtest/gtest.h>

#include "comm/world.hpp"
#include "layout/sharded.hpp"
#include "parity/gpu/against_fp64.hpp"
#include "trunk/triangle_attention/triangle_attention.hpp"

namespace cpize::trunk {
namespace {

constexpr std::int64_t kChannels = 128, kWidth = 32, kHeads = 4;

const MeshPtr& mesh() {
  static comm::ProcessWorld world = comm::ProcessWorld::join({comm::BackendKind::nccl});
  static const MeshPtr one = world.mesh(MeshShape(1, 1, 1));
  return one;
}

enum class Path { plain, library, kernels };

TriangleAttention block_of(TriangleNode node, at::ScalarType dtype, Path path, double scores = 1, double bias = 1) {
  TriangleAttention block(kChannels, kWidth, kHeads, node,
                          TriangleAttentionOptions{.fused = path != Path::plain, .kernels = path == Path::kernels});
  block->to(at::kCUDA);
  at::NoGradGuard no_grad;
  at::manual_seed(7);
  for (auto& item : block->named_parameters()) {
    at::Tensor& p = item.value();
    const bool is_score = item.key() == "mha.linear_q.weight" || item.key() == "mha.linear_k.weight";
    const double scale = is_score ? scores : item.key() == "linear.weight" ? bias : 1;
    if (p.dim() == 1)
      p.add_(at::randn_like(p), 0.3);
    else
      p.copy_((at::randn_like(p) * (scale / std::sqrt(double(kChannels)))).to(at::kBFloat16));
  }
  block->to(dtype);
  return block;
}

struct Problem {
  at::Tensor z, mask, dy;  // bf16
};

Problem problem_of(std::int64_t batch, std::int64_t tokens) {
  at::manual_seed(tokens);
  const auto bf16 = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const Shape shape{batch, tokens, tokens, kChannels};
  return {at::randn(shape, bf16) * 2 + 0.5, at::ones({batch, tokens, tokens}, bf16), at::randn(shape, bf16)};
}

/// y, the gradient of z, those of the parameters in their order; by name.
std::vector<std::pair<std::string, at::Tensor>> run(TriangleAttention& block, const Problem& p, at::ScalarType dtype,
                                                    bool residual = false) {
  for (auto& parameter : block->parameters()) parameter.mutable_grad() = at::Tensor();
  const at::Tensor leaf = p.z.detach().to(dtype, false, /*copy=*/true).requires_grad_();
  const auto in_bf16 = autocast(dtype);
  const auto z = wrap<Pair>(leaf, leaf.sizes().vec(), mesh());
  const auto mask = wrap<Pair>(p.mask, p.mask.sizes().vec(), mesh());
  const at::Tensor y = (residual ? block->residual(z, mask) : block(z, mask)).local();
  y.backward(p.dy.to(dtype));
  std::vector<std::pair<std::string, at::Tensor>> all{{"y", y.detach()}, {"z", leaf.grad()}};
  for (const auto& item : block->named_parameters()) all.emplace_back(item.key(), item.value().grad());
  return all;
}

struct Subject {
  TriangleNode node;
  Path path;
};

/// Errors of a fused path are those of bf16 operands: as large as the plain path's in bf16, give or take.
void expect_as_right_as_plain(const Subject& of, const Problem& p, double scores = 1, double bias = 1) {
  auto wide = block_of(of.node, at::kDouble, Path::plain, scores, bias);
  auto fused = block_of(of.node, at::kFloat, of.path, scores, bias);
  auto plain = block_of(of.node, at::kFloat, Path::plain, scores, bias);
  const auto expected = run(wide, p, at::kDouble), by_kernels = run(fused, p, at::kBFloat16),
             again = run(fused, p, at::kBFloat16), by_panels = run(plain, p, at::kBFloat16);
  const double largest = expected[1].second.abs().max().item<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, truth] = expected[i];
    EXPECT_TRUE(at::equal(by_kernels[i].second, again[i].second)) << name << " does not repeat";
    // With a single key nothing depends on the scores, and what the kernels find is the rounding of a weight that is 1.
    if (truth.abs().max().item<double>() < 1e-9 * largest) {
      EXPECT_LT(by_kernels[i].second.abs().max().item<double>(), 0.25 * largest) << name;
      continue;
    }
    const double few = p.z.size(1) < 60 ? 5e-3 : 1e-3;  // errors of a few numbers scatter more
    EXPECT_LT(relative_error(by_kernels[i].second, truth), 1.5 * relative_error(by_panels[i].second, truth) + few)
        << name;
  }
}

class FusedAttention : public testing::TestWithParam<Subject> {};

TEST_P(FusedAttention, AtTheEdgesOfTiles) {
  for (const std::int64_t tokens : {1, 5, 63, 64, 65, 127, 128, 129, 200, 257, 385}) {
    SCOPED_TRACE(tokens);
    Problem p = problem_of(tokens < 100 ? 2 : 1, tokens);
    p.mask = at::rand(p.mask.sizes(), at::kCUDA).gt(0.3).to(at::kBFloat16);
    expect_as_right_as_plain(GetParam(), p);
  }
}

TEST_P(FusedAttention, RowsWithoutAValidKey) {
  for (const std::int64_t tokens : {5, 130}) {
    SCOPED_TRACE(tokens);
    Problem p = problem_of(1, tokens);
    p.mask.select(GetParam().node == TriangleNode::starting ? 1 : 2, 3).zero_();
    expect_as_right_as_plain(GetParam(), p);
    p.mask.zero_();
    expect_as_right_as_plain(GetParam(), p);
  }
}

TEST_P(FusedAttention, AddsToTheResidualStream) {
  for (const std::int64_t tokens : {67, 128}) {
    Problem p = problem_of(1, tokens);
    auto block = block_of(GetParam().node, at::kFloat, GetParam().path);
    const auto apart = run(block, p, at::kBFloat16), whole = run(block, p, at::kBFloat16, /*residual=*/true);
    EXPECT_TRUE(at::equal(whole[0].second, p.z + apart[0].second)) << tokens;
    EXPECT_LT(relative_error(whole[1].second, p.dy.to(at::kDouble) + apart[1].second.to(at::kDouble)), 1e-2) << tokens;
    for (std::size_t i = 2; i < whole.size(); ++i)
      EXPECT_TRUE(at::equal(whole[i].second, apart[i].second)) << whole[i].first;
    const at::NoGradGuard no_grad;
    const auto in_bf16 = autocast();
    const at::Tensor own = p.z.clone();
    const auto y = block->residual(wrap<Pair>(own, own.sizes().vec(), mesh()),
                                   wrap<Pair>(p.mask, p.mask.sizes().vec(), mesh()), /*overwrite=*/true);
    EXPECT_TRUE(at::equal(y.local(), whole[0].second)) << tokens;
    if (GetParam().path == Path::kernels) {
      EXPECT_TRUE(at::equal(own, whole[0].second)) << "the result takes the place of z";
    }
  }
}

// Score sums below and above what fp32 holds when they are shifted by the largest bias alone.
TEST_P(FusedAttention, ScoresOutOfRange) {
  const Problem p = problem_of(1, 130);
  expect_as_right_as_plain(GetParam(), p, 4, 60);
  expect_as_right_as_plain(GetParam(), p, 10, 1);
}

TEST_P(FusedAttention, PaddingChangesNoBit) {
  const std::int64_t tokens = 150, first_padding = 101;
  Problem p = problem_of(1, tokens);
  for (const std::int64_t dim : {1, 2}) {
    p.mask.slice(dim, first_padding).zero_();
    p.dy.slice(dim, first_padding).zero_();
  }
  Problem poisoned = p;
  poisoned.z = p.z.clone();
  for (const std::int64_t dim : {1, 2}) poisoned.z.slice(dim, first_padding).fill_(1e15);
  auto block = block_of(GetParam().node, at::kFloat, GetParam().path);
  const auto valid = [&](const at::Tensor& t) {
    return t.dim() == 4 ? t.slice(1, 0, first_padding).slice(2, 0, first_padding) : t;
  };
  const auto clean = run(block, p, at::kBFloat16), with_poison = run(block, poisoned, at::kBFloat16);
  for (std::size_t i = 0; i < clean.size(); ++i)
    EXPECT_TRUE(at::equal(valid(clean[i].second), valid(with_poison[i].second))) << clean[i].first;
}

INSTANTIATE_TEST_SUITE_P(Paths, FusedAttention,
                         testing::Values(Subject{TriangleNode::starting, Path::kernels},
                                         Subject{TriangleNode::ending, Path::kernels},
                                         Subject{TriangleNode::starting, Path::library},
                                         Subject{TriangleNode::ending, Path::library}),
                         [](const auto& info) {
                           return std::string(info.param.node == TriangleNode::starting ? "starting" : "ending") +
                                  (info.param.path == Path::kernels ? "_kernels" : "_library");
                         });

class LargeAttention : public testing::TestWithParam<std::int64_t> {};

// The last row alone gives the last row of y and, since T is the same for all rows, of the gradient of z: here the
// weights of T are zero in backward, and the last queries' T is made from the last row in forward.
TEST_P(LargeAttention, LastRowsAreThoseOfASlice) {
  const std::int64_t n = GetParam();
  auto block = block_of(TriangleNode::starting, at::kFloat, Path::kernels);
  const Problem p = problem_of(1, n);
  const at::Tensor last = p.z[0][n - 1].to(at::kDouble);  // row n - 1, which holds T of query n - 1
  const auto wide = [](const at::Tensor& w) { return w.detach().to(at::kDouble); };
  const auto heads = [&](const at::Tensor& x, const at::Tensor& w) {
    return at::linear(x, wide(w)).view({-1, kHeads, kWidth}).transpose(0, 1);  // [H, n, d]
  };
  const auto attend = [&](const at::Tensor& row, std::int64_t from, bool with_bias) {
    const at::Tensor x =
        at::layer_norm(row, {kChannels}, wide(block->layer_norm->weight), wide(block->layer_norm->bias), kNormEpsilon);
    const at::Tensor x_q = x.slice(0, from);
    at::Tensor scores = at::matmul(heads(x_q, block->mha->linear_q->weight) / std::sqrt(double(kWidth)),
                                   heads(x, block->mha->linear_k->weight).transpose(1, 2));
    if (with_bias) scores = scores + at::linear(x, wide(block->linear->weight)).t().unsqueeze(1);  // of one query
    const at::Tensor o = at::matmul(scores.softmax(-1), heads(x, block->mha->linear_v->weight));
    return at::linear(
        at::linear(x_q, wide(block->mha->linear_g->weight)).sigmoid() * o.transpose(0, 1).reshape({-1, kChannels}),
        wide(block->mha->linear_o->weight));
  };
  const auto mask = wrap<Pair>(p.mask, p.mask.sizes().vec(), mesh());
  {
    at::NoGradGuard no_grad;
    const auto in_bf16 = autocast();
    const at::Tensor y = block(wrap<Pair>(p.z, p.z.sizes().vec(), mesh()), mask).local();
    EXPECT_LT(relative_error(y[0][n - 1].slice(0, n - 1), attend(last, n - 1, true)), 2e-2);
  }
  {
    at::NoGradGuard no_grad;
    block->linear->weight.zero_();
  }
  const at::Tensor leaf = p.z.detach().requires_grad_();
  {
    const auto in_bf16 = autocast();
    const at::Tensor y = block(wrap<Pair>(leaf, leaf.sizes().vec(), mesh()), mask).local();
    y.backward(p.dy);
  }
  const at::Tensor row = last.detach().requires_grad_();
  attend(row, 0, false).backward(p.dy[0][n - 1].to(at::kDouble));
  EXPECT_LT(relative_error(leaf.grad()[0][n - 1], row.grad()), 2e-2);
  block = nullptr;
  c10::cuda::CUDACachingAllocator::emptyCache();
}

INSTANTIATE_TEST_SUITE_P(Boundaries, LargeAttention, testing::Values(4095, 4096, 4097, 5793));

}  // namespace
}  // namespace cpize::trunk
