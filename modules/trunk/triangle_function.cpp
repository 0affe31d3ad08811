#include "trunk/triangle_function.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include "error/error.hpp"
#include "trunk/row_panels.hpp"
#include "trunk/triangle_fused.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor as_rows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }
at::Tensor as_column(const at::Tensor& mask, at::ScalarType dtype) { return mask.reshape({-1, 1}).to(dtype); }

struct TriangleFunction : torch::autograd::Function<TriangleFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& z, const at::Tensor& mask,
                            const at::Tensor& norm_in, const at::Tensor& norm_in_bias, const at::Tensor& p_in,
                            const at::Tensor& g_in, const at::Tensor& norm_out, const at::Tensor& norm_out_bias,
                            const at::Tensor& p_out, const at::Tensor& g_out,
                            const c10::intrusive_ptr<TriangleCall>& call) {
    const NoAutocast no_autocast(z);
    const TriangleWeights weights{norm_in, norm_in_bias, p_in, g_in, norm_out, norm_out_bias, p_out, g_out};
    if (call->save) {
      context->save_for_backward({z, mask, norm_in, norm_in_bias, p_in, g_in, norm_out, norm_out_bias, p_out, g_out});
      context->saved_data["call"] = c10::IValue::make_capsule(call);
    }
    const at::Tensor y = triangle_forward(*call, as_rows(z), as_column(mask, call->precision.operand), weights);
    return at::_unsafe_view(y, z.sizes());  // nobody else holds y; autograd forbids writing in place to a true view
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "triangle multiplication: its backward is hand-written and has no gradient of its own (create_graph = true); "
          "use the serial block for second derivatives");
    const auto saved = context->get_saved_variables();
    auto call = c10::static_intrusive_pointer_cast<TriangleCall>(context->saved_data["call"].toCapsule());
    const NoAutocast no_autocast(saved[0]);
    const TriangleWeights weights{saved[2], saved[3], saved[4], saved[5], saved[6], saved[7], saved[8], saved[9]};
    std::array<bool, 9> wanted{context->needs_input_grad(0)};
    for (std::size_t i = 1; i < wanted.size(); ++i) wanted[i] = context->needs_input_grad(i + 1);  // 1 is the mask
    const bool consume = !torch::autograd::get_current_graph_task_keep_graph();
    auto g = triangle_backward(*call, as_rows(saved[0]), as_column(saved[1], call->precision.operand), weights,
                               as_rows(gradients[0]), wanted, consume);
    const auto& w = g.weights;
    return {g.z.defined() ? g.z.view(saved[0].sizes()) : g.z,
            {},
            w.norm_in,
            w.norm_in_bias,
            w.p_in,
            w.g_in,
            w.norm_out,
            w.norm_out_bias,
            w.p_out,
            w.g_out,
            {}};
  }
};

}  // namespace

TriangleWeights TriangleWeights::cast(const Precision& precision) const {
  const auto n = precision.norm, o = precision.operand;
  return {norm_in.to(n),  norm_in_bias.to(n),  p_in.to(o),  g_in.to(o),
          norm_out.to(n), norm_out_bias.to(n), p_out.to(o), g_out.to(o)};
}

at::Tensor TriangleCall::to_channels(at::Tensor local, const Shape& trailing) const {
  Shape shape(global.begin(), global.begin() + 3);
  shape.insert(shape.end(), trailing.begin(), trailing.end());
  const at::Tensor moved = ExchangeInFlight(std::move(local), Pair::spec, PairByChannel::spec, shape, mesh).finish();
  return moved.movedim({1, 2}, {-2, -1});
}

at::Tensor TriangleCall::to_pairs(at::Tensor channels, const Shape& trailing) const {
  Shape shape(global.begin(), global.begin() + 3);
  shape.insert(shape.end(), trailing.begin(), trailing.end());
  at::Tensor local = channels.movedim({-2, -1}, {1, 2});
  channels.reset();
  return ExchangeInFlight(std::move(local), PairByChannel::spec, Pair::spec, shape, mesh).finish();
}

at::Tensor triangle_multiplication(const Sharded<Pair>& z, const at::Tensor& mask, TriangleDirection direction,
                                   const TriangleMultiplicationOptions& options, const TriangleWeights& w,
                                   bool residual, bool overwrite) {
  auto call = c10::make_intrusive<TriangleCall>();
  call->mesh = z.mesh();
  call->global = z.global();
  call->direction = direction;
  call->precision = Precision::of(z.local());
  call->chunks = channel_chunks(z.global().back(), z.mesh()->shape().cp_size(), options.channel_chunks);
  if (options.fused) call->fused = make_fused_triangle(*call, as_rows(z.local()), options.channel_chunks);
  call->panel = panel_rows(mask.numel(), 16, options.panel_rows, mask.is_cuda());
  for (const at::Tensor* t :
       {&z.local(), &w.norm_in, &w.norm_in_bias, &w.p_in, &w.g_in, &w.norm_out, &w.norm_out_bias, &w.p_out, &w.g_out})
    call->save |= at::GradMode::is_enabled() && t->requires_grad();
  // A residual stream that dropout has made fp32 is read as bf16, and the sum stays outside.
  const at::Tensor input = call->fused ? z.local().to(call->precision.operand) : z.local();
  call->residual = residual && call->fused && input.scalar_type() == z.local().scalar_type();
  call->overwrite = call->residual && overwrite && !call->save && z.local().is_contiguous();
  const at::Tensor y = TriangleFunction::apply(input, mask, w.norm_in, w.norm_in_bias, w.p_in, w.g_in, w.norm_out,
                                               w.norm_out_bias, w.p_out, w.g_out, call);
  return residual && !call->residual ? z.local() + y : y;
}

}  // namespace cpize::trunk
