// Beyond 2^31 elements: N = 4,096 with 128 channels is exactly 2^31, N = 5,793 passes 2^32. The last rows of a block's
// result must equal a computation on a slice, whatever the width of an index somewhere. One GPU, bf16.
#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <gtest/gtest.h>

#include "comm/world.hpp"
#include "layout/sharded.hpp"
#include "trunk/transition.hpp"
#include "trunk/tri_mul_in.hpp"
#include "trunk/tri_mul_out.hpp"

namespace cpize {
namespace {

constexpr std::int64_t kChannels = 128, kLast = 2;

comm::ProcessWorld& world() {
  static comm::ProcessWorld w = comm::ProcessWorld::join({comm::BackendKind::nccl});
  return w;
}

at::Tensor normed(const at::Tensor& x, const trunk::Norm& norm) {
  return at::layer_norm(x, {kChannels}, norm->weight, norm->bias, trunk::kNormEpsilon);
}

/// The last rows and columns of the triangle multiplication, from the strips of z that they depend on, in fp64.
at::Tensor expected_corner(const at::Tensor& z, trunk::TriangleMultiplication& block, bool outgoing) {
  const std::int64_t n = z.size(1);
  const at::Tensor strip =
      (outgoing ? z.slice(1, n - kLast) : z.slice(2, n - kLast).transpose(1, 2)).to(at::kDouble)[0];  // [last, k, C]
  block->to(at::kDouble);
  const at::Tensor x = normed(strip, block->norm_in);
  const auto ab = (at::linear(x, block->p_in->weight) * at::linear(x, block->g_in->weight).sigmoid()).chunk(2, -1);
  const at::Tensor o = at::einsum("ikc,jkc->ijc", {ab[0], ab[1]});
  const at::Tensor corner = z.slice(1, n - kLast).slice(2, n - kLast).to(at::kDouble)[0];
  const at::Tensor y = at::linear(normed(o, block->norm_out), block->p_out->weight) *
                       at::linear(normed(corner, block->norm_in), block->g_out->weight).sigmoid();
  block->to(at::kFloat);
  return y;
}

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  return ((value.to(at::kDouble) - expected).norm() / expected.norm()).item<double>();
}

template <class Module>
void randomise(Module& module) {
  at::NoGradGuard no_grad;
  module->to(at::kCUDA);
  for (auto& p : module->parameters())
    p.dim() == 1 ? p.add_(at::randn_like(p), 0.1) : p.copy_(at::randn_like(p) / std::sqrt(double(p.size(1))));
}

class LargeSizes : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    mesh_ = world().mesh(MeshShape(1, 1, 1));
    const std::int64_t n = GetParam();
    at::manual_seed(n);
    z_ = at::randn({1, n, n, kChannels}, at::TensorOptions(at::kBFloat16).device(at::kCUDA));
    mask_ = at::ones({1, n, n}, z_.options());
  }
  void TearDown() override {
    z_.reset();
    c10::cuda::CUDACachingAllocator::emptyCache();
  }
  at::Tensor corner(const at::Tensor& y) const {
    return y.slice(1, GetParam() - kLast).slice(2, GetParam() - kLast)[0];
  }
  void expect_triangle(trunk::TriangleDirection direction) {
    at::NoGradGuard no_grad;
    trunk::TriangleMultiplication block(kChannels, direction);
    randomise(block);
    const auto z = wrap<Pair>(z_, z_.sizes().vec(), mesh_);
    const auto mask = wrap<Pair>(mask_, mask_.sizes().vec(), mesh_);
    const at::Tensor y = block(z, mask).local();
    EXPECT_LT(relative_error(corner(y), expected_corner(z_, block, direction == trunk::TriangleDirection::outgoing)),
              2e-2);  // bf16 products, fp32 sums: 4e-3 at small sizes
  }

  MeshPtr mesh_;
  at::Tensor z_, mask_;
};

TEST_P(LargeSizes, TriangleMultiplicationOutgoing) { expect_triangle(trunk::TriangleDirection::outgoing); }
TEST_P(LargeSizes, TriangleMultiplicationIncoming) { expect_triangle(trunk::TriangleDirection::incoming); }

TEST_P(LargeSizes, Transition) {
  at::NoGradGuard no_grad;
  trunk::Transition block(kChannels, 4 * kChannels);
  randomise(block);
  for (auto& p : block->parameters()) p.set_data(p.to(at::kBFloat16));
  const at::Tensor y = block->forward_local(z_), of_slice = block->forward_local(corner(z_).contiguous());
  EXPECT_LT(relative_error(corner(y), of_slice.to(at::kDouble)), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Boundaries, LargeSizes, testing::Values(4095, 4096, 4097, 5793));

}  // namespace
}  // namespace cpize
