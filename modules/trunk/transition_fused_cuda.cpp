#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "trunk/cuda/transition_kernels.hpp"
#include "trunk/cuda/weight_sums.hpp"
#include "trunk/parameters.hpp"
#include "trunk/row_panels.hpp"
#include "trunk/transition_fused.hpp"

namespace cpize::trunk {

using namespace cuda;

namespace {

constexpr std::int64_t kChannels = 128, kExtended = 136;

void* stream() { return c10::cuda::getCurrentCUDAStream(); }

/// The weights as the kernels take them.
struct Prepared {
  at::Tensor norm, norm_bias, fc1, fc2, fc3, image;
  int hidden;

  Prepared(const TransitionWeights& w, bool backward) : hidden(static_cast<int>(w.fc1.size(0))) {
    norm = w.norm.detach().to(at::kFloat).contiguous();
    norm_bias = w.norm_bias.detach().to(at::kFloat).contiguous();
    fc1 = w.fc1.detach().to(at::kBFloat16).contiguous();
    fc2 = w.fc2.detach().to(at::kBFloat16).contiguous();
    fc3 = w.fc3.detach().to(at::kBFloat16).contiguous();
    image = at::empty({hidden / kTransitionSliceHidden, kTransitionSliceBytes}, fc1.options().dtype(at::kByte));
    prepare_transition_weights(fc1.data_ptr(), fc2.data_ptr(), fc3.data_ptr(), hidden, backward, image.data_ptr(),
                               stream());
  }
  TriangleNorm parameters() const {
    return {norm.data_ptr<float>(), norm_bias.data_ptr<float>(), static_cast<float>(kNormEpsilon)};
  }
};

}  // namespace

bool takes_fused_transition(const at::Tensor& rows, const Precision& precision, const TransitionWeights& weights) {
  return rows.is_cuda() && precision.operand == at::kBFloat16 && rows.size(1) == kChannels &&
         weights.fc3.size(0) == kChannels && weights.fc1.size(0) % kTransitionSliceHidden == 0 &&
         at::cuda::getDeviceProperties(rows.get_device())->major == 9;
}

at::Tensor fused_transition_forward(const at::Tensor& x, const TransitionWeights& weights, bool residual,
                                    bool overwrite) {
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor rows = x.contiguous();
  const Prepared w(weights, false);
  at::Tensor y = overwrite ? rows : at::empty_like(rows);
  transition_forward(rows.data_ptr(), w.image.data_ptr(), w.parameters(), w.hidden, residual, y.data_ptr(),
                     rows.size(0), stream());
  return y;
}

TransitionGradients fused_transition_backward(const at::Tensor& x, const TransitionWeights& weights,
                                              const at::Tensor& gradient, bool residual,
                                              const std::array<bool, 6>& wanted) {
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor rows = x.contiguous(), dy = gradient.to(at::kBFloat16).contiguous();
  const Prepared w(weights, true);
  const std::int64_t hidden = w.hidden, panel = operand_panel(rows.size(0), 16);
  const auto room = [&](std::int64_t columns) { return at::empty({panel, columns}, rows.options()); };
  const auto total = [&](std::int64_t r, std::int64_t c) { return at::zeros({r, c}, w.norm.options()); };

  const at::Tensor duv = room(2 * hidden), h = room(hidden), normed = room(kExtended), dx = at::empty_like(rows);
  const at::Tensor sum_uv = total(2 * hidden, kExtended), sum_h = total(hidden, kChannels);
  for_row_panels(rows.size(0), panel, [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor dy_panel = dy.narrow(0, begin, count);
    transition_backward(dy_panel.data_ptr(), rows.narrow(0, begin, count).data_ptr(), w.image.data_ptr(),
                        w.parameters(), w.hidden, residual, dx.narrow(0, begin, count).data_ptr(),
                        {duv.data_ptr(), h.data_ptr(), normed.data_ptr()}, count, stream());
    add_weight_gradient(sum_uv, duv.narrow(0, 0, count), normed.narrow(0, 0, count));
    add_weight_gradient(sum_h, h.narrow(0, 0, count), dy_panel);
  });

  // Columns of the kernel's output back to hidden channels.
  const auto device = rows.device();
  const at::Tensor of_fc1 = sum_uv.index_select(0, channel_positions(hidden, 64, 0, device));
  const at::Tensor of_fc2 = sum_uv.index_select(0, channel_positions(hidden, 64, 32, device));
  TransitionGradients result;
  at::Tensor d_norm = total(1, kChannels)[0], d_bias = total(1, kChannels)[0];
  result.weights = {d_norm, d_bias, gradients_of(of_fc1, w.fc1.to(at::kFloat), w.norm, w.norm_bias, d_norm, d_bias),
                    gradients_of(of_fc2, w.fc2.to(at::kFloat), w.norm, w.norm_bias, d_norm, d_bias),
                    sum_h.index_select(0, channel_positions(hidden, 32, 0, device)).t()};
  at::Tensor* const gradients[] = {&result.rows,        &result.weights.norm, &result.weights.norm_bias,
                                   &result.weights.fc1, &result.weights.fc2,  &result.weights.fc3};
  result.rows = dx;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!wanted[i]) gradients[i]->reset();
  return result;
}

}  // namespace cpize::trunk
