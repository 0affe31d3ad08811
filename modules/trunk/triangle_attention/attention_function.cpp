#include "trunk/triangle_attention/attention_function.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include "error/error.hpp"
#include "trunk/padding.hpp"
#include "trunk/triangle_attention/attention_efficient.hpp"
#include "trunk/triangle_attention/attention_fused.hpp"
#include "trunk/triangle_attention/attention_panels.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// In core form, channels next to each other.
at::Tensor rows_of_pairs(const AttentionCall& call, const at::Tensor& x) {
  return call.to_rows(x.stride(-1) == 1 ? x : x.contiguous());
}

struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& z, const at::Tensor& mask,
                            const at::Tensor& norm, const at::Tensor& norm_bias, const at::Tensor& linear,
                            const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& o,
                            const at::Tensor& g, const c10::intrusive_ptr<AttentionCall>& call) {
    const NoAutocast no_autocast(z);
    const AttentionWeights weights{norm, norm_bias, linear, q, k, v, o, g};
    if (call->save) {
      // As it came: autograd then sees whether somebody writes to it, and rows are exchanged again rather than kept.
      context->save_for_backward({norm, norm_bias, linear, q, k, v, o, g, z});
      context->saved_data["call"] = c10::IValue::make_capsule(call);
    }
    const at::Tensor y =
        call->fused ? fused_attention_forward(*call, z, mask, weights) : plain(*call, z, mask, weights);
    return at::_unsafe_view(y, z.sizes());  // nobody else holds y; autograd forbids writing in place to a true view
  }

  static at::Tensor plain(AttentionCall& call, const at::Tensor& z, const at::Tensor& mask,
                          const AttentionWeights& weights) {
    at::Tensor mask_rows = call.to_rows(mask.to(call.precision.operand));
    if (call.save) call.mask = mask_rows;
    at::Tensor y = call.empty_rows(z.size(-1), call.precision.operand, z.device());
    const auto attend = call.efficient ? efficient_attention_forward : attention_forward;
    attend(call, rows_of_pairs(call, z), mask_rows, weights, y);
    mask_rows.reset();
    return call.to_pairs(std::move(y));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "triangle attention: its backward is hand-written and has no gradient of its own (create_graph = true); use "
          "the serial block for second derivatives");
    const auto saved = context->get_saved_variables();
    auto call = c10::static_intrusive_pointer_cast<AttentionCall>(context->saved_data["call"].toCapsule());
    const at::Tensor& z = saved[8];
    const bool consume = !torch::autograd::get_current_graph_task_keep_graph();
    const NoAutocast no_autocast(gradients[0]);
    const AttentionWeights weights{saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], saved[6], saved[7]};
    WantedAttention wanted{context->needs_input_grad(0)};
    for (std::size_t i = 1; i < wanted.size(); ++i) wanted[i] = context->needs_input_grad(i + 1);  // 1 is the mask

    at::Tensor dy = std::move(gradients[0]);
    gradients.clear();
    AttentionGradients g = call->fused ? fused_attention_backward(*call, z, weights, dy, wanted, consume)
                                       : plain_backward(*call, z, weights, std::move(dy), wanted);
    if (consume) call->mask.reset();
    const auto& w = g.weights;
    return {g.x, {}, w.norm, w.norm_bias, w.linear, w.q, w.k, w.v, w.o, w.g, {}};
  }

  static AttentionGradients plain_backward(const AttentionCall& call, const at::Tensor& z,
                                           const AttentionWeights& weights, at::Tensor dy,
                                           const WantedAttention& wanted) {
    dy = rows_of_pairs(call, dy);
    at::Tensor rows = rows_of_pairs(call, z);
    const bool own_gradient = call.exchanges_rows();  // what arrived in an exchange is nobody else's
    AttentionGradients g = call.efficient
                               ? efficient_attention_backward(call, rows, call.mask, weights, dy, wanted)
                               : attention_backward(call, rows, call.mask, weights, dy, wanted, own_gradient);
    rows.reset();
    dy.reset();
    if (g.x.defined()) g.x = call.to_pairs(std::move(g.x));
    return g;
  }
};

}  // namespace

AttentionWeights AttentionWeights::cast(const Precision& precision) const {
  const auto n = precision.norm, p = precision.operand;
  return {norm.to(n), norm_bias.to(n), linear.to(p), q.to(p), k.to(p), v.to(p), o.to(p), g.to(p)};
}

at::Tensor triangle_attention(const Sharded<Pair>& z, const at::Tensor& mask, TriangleNode node, std::int64_t heads,
                              const TriangleAttentionOptions& options, const AttentionWeights& w, bool residual,
                              bool overwrite) {
  auto call = c10::make_intrusive<AttentionCall>();
  call->mesh = z.mesh();
  call->global = z.global();
  call->node = node;
  call->heads = heads;
  call->head_width = w.q.size(0) / heads;
  call->precision = Precision::of(z.local());
  call->panels = attention_panels(z.local().numel(), z.global()[1], options.score_elements, mask.is_cuda());
  for (const at::Tensor* t : {&z.local(), &w.norm, &w.norm_bias, &w.linear, &w.q, &w.k, &w.v, &w.o, &w.g})
    call->save |= at::GradMode::is_enabled() && t->requires_grad();
  if (options.fused && options.kernels) call->fused = make_fused_attention(*call, z.local());
  call->efficient = options.fused && !call->fused && takes_efficient_attention(*call, z.local());
  // A residual stream that dropout has made fp32 is read as bf16, and the sum stays outside.
  const at::Tensor input = call->fused ? z.local().to(call->precision.operand) : z.local();
  call->residual = residual && call->fused && input.scalar_type() == z.local().scalar_type();
  call->overwrite = call->residual && !call->save && overwrite && input.is_contiguous();
  const at::Tensor y =
      AttentionFunction::apply(input, mask, w.norm, w.norm_bias, w.linear, w.q, w.k, w.v, w.o, w.g, call);
  return residual && !call->residual ? add_to(z.local(), y) : y;
}

}  // namespace cpize::trunk
