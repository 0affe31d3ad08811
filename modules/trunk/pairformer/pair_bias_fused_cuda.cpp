#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "trunk/cuda/weight_sums.hpp"
#include "trunk/pairformer/cuda/pair_bias_kernels.hpp"
#include "trunk/pairformer/pair_bias_fused.hpp"

namespace cpize::trunk {
namespace {

void* stream() { return c10::cuda::getCurrentCUDAStream(); }

/// The weights as the kernels take them.
struct Wide {
  at::Tensor norm, norm_bias, projection;

  explicit Wide(const PairBiasWeights& w)
      : norm(w.norm.detach().to(at::kFloat).contiguous()),
        norm_bias(w.norm_bias.detach().to(at::kFloat).contiguous()),
        projection(w.bias.detach().to(at::kFloat).contiguous()) {}

  cuda::PairBiasParameters parameters() const {
    return {norm.data_ptr<float>(), norm_bias.data_ptr<float>(), projection.data_ptr<float>(),
            static_cast<int>(projection.size(0)), static_cast<float>(kNormEpsilon)};
  }
};

}  // namespace

bool takes_fused_bias(const PairBiasCall& call, const at::Tensor& z, const PairBiasWeights& weights) {
  return call.projected && z.is_cuda() && z.scalar_type() == at::kBFloat16 && z.is_contiguous() && z.size(-1) == 128 &&
         call.precision.wide == at::kFloat && weights.bias.size(0) <= cuda::kMostHeads &&
         at::cuda::getDeviceProperties(z.get_device())->major == 9;
}

at::Tensor fused_bias(const at::Tensor& z, const PairBiasWeights& weights, const at::Tensor& excluded) {
  const c10::cuda::CUDAGuard guard(z.device());
  const Wide w(weights);
  const std::int64_t rows = z.size(0), columns = z.size(1);
  at::Tensor bias = at::empty({w.projection.size(0), rows, columns}, w.norm.options());
  cuda::pair_bias(z.data_ptr(), w.parameters(), excluded.data_ptr<bool>(), columns, kExcludedLogit,
                  bias.data_ptr<float>(), rows * columns, stream());
  return bias;
}

at::Tensor fused_bias_backward(const at::Tensor& dbias, const at::Tensor& z, const PairBiasWeights& weights,
                               const at::Tensor& dz) {
  const c10::cuda::CUDAGuard guard(z.device());
  const Wide w(weights);
  const at::Tensor gradient = dbias.contiguous();
  const std::int64_t pairs = z.size(0) * z.size(1);
  const at::Tensor partial =
      at::empty({cuda::pair_bias_partials(pairs), cuda::kMostHeads, cuda::kPairBiasColumns}, w.norm.options());
  cuda::pair_bias_backward(gradient.data_ptr<float>(), z.data_ptr(), w.parameters(),
                           dz.defined() ? dz.data_ptr() : nullptr, partial.data_ptr<float>(), pairs, stream());
  return partial.sum(0);
}

void add_fused_bias_gradients(const at::Tensor& sum, const PairBiasWeights& weights, const PairBiasWeights& totals) {
  const Wide w(weights);
  const at::Tensor of_bias = cuda::gradients_of(sum.narrow(0, 0, w.projection.size(0)), w.projection, w.norm,
                                                w.norm_bias, totals.norm, totals.norm_bias);
  at::Tensor total = totals.bias;
  if (total.defined()) total.add_(of_bias);
}

}  // namespace cpize::trunk
