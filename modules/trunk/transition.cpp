#include "trunk/transition.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "error/error.hpp"
#include "trunk/fast_rows.hpp"
#include "trunk/precision.hpp"
#include "trunk/row_panels.hpp"
#include "trunk/transition_fused.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct TransitionCall : torch::CustomClassHolder {
  Precision precision;
  std::int64_t panel = 0;
  bool fused = false;      // through the kernels of transition_fused.hpp
  bool residual = false;   // the result is x + y (fused only)
  bool overwrite = false;  // and takes the place of x, since nobody will call backward
};

at::Tensor as_rows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

struct TransitionFunction : torch::autograd::Function<TransitionFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& norm,
                            const at::Tensor& norm_bias, const at::Tensor& fc1, const at::Tensor& fc2,
                            const at::Tensor& fc3, const c10::intrusive_ptr<TransitionCall>& call) {
    const NoAutocast no_autocast(x);
    context->save_for_backward({x, norm, norm_bias, fc1, fc2, fc3});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    const Precision& p = call->precision;
    const at::Tensor rows = as_rows(x), w = norm.to(p.norm), b = norm_bias.to(p.norm);
    if (call->fused) {
      const at::Tensor y =
          fused_transition_forward(rows, {norm, norm_bias, fc1, fc2, fc3}, call->residual, call->overwrite);
      return at::_unsafe_view(y, x.sizes());
    }
    const at::Tensor w1 = fc1.to(p.operand), w2 = fc2.to(p.operand), w3 = fc3.to(p.operand);
    at::Tensor y = at::empty({rows.size(0), w3.size(0)}, rows.options().dtype(p.operand));
    const bool fast = fast_rows(rows, p) && w1.size(0) % 2 == 0;
    for_row_panels(rows.size(0), call->panel, [&](std::int64_t begin, std::int64_t count) {
      const at::Tensor x_panel = rows.narrow(0, begin, count);
      const at::Tensor normed =
          fast ? fast_normalise(x_panel, norm, norm_bias) : normalise(x_panel.to(p.norm), w, b).value.to(p.operand);
      at::Tensor hidden = at::mm(normed, w1.t());
      const at::Tensor value = at::mm(normed, w2.t());
      if (fast)
        fast_gate(hidden, value);
      else
        at::silu_(hidden).mul_(value);
      at::Tensor panel = y.narrow(0, begin, count);
      at::mm_out(panel, hidden, w3.t());
    });
    auto shape = x.sizes().vec();
    shape.back() = y.size(1);
    return at::_unsafe_view(y, shape);  // nobody else holds y; autograd forbids writing in place to a true view
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "transition: its backward is hand-written and has no gradient of its own (create_graph = true); use the "
          "serial "
          "block for second derivatives");
    const auto saved = context->get_saved_variables();
    auto call = c10::static_intrusive_pointer_cast<TransitionCall>(context->saved_data["call"].toCapsule());
    const Precision& p = call->precision;
    const NoAutocast no_autocast(saved[0]);
    const at::Tensor rows = as_rows(saved[0]), dy = as_rows(gradients[0]);
    if (call->fused) {
      std::array<bool, 6> wanted;
      for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = context->needs_input_grad(i);
      const auto g = fused_transition_backward(rows, {saved[1], saved[2], saved[3], saved[4], saved[5]}, dy,
                                               call->residual, wanted);
      return results(saved, {g.weights.norm, g.weights.norm_bias, g.weights.fc1, g.weights.fc2, g.weights.fc3}, g.rows);
    }
    const at::Tensor w = saved[1].to(p.norm), b = saved[2].to(p.norm);
    const at::Tensor w1 = saved[3].to(p.operand), w2 = saved[4].to(p.operand), w3 = saved[5].to(p.operand);
    std::vector<at::Tensor> totals;
    for (std::size_t i = 1; i < saved.size(); ++i)
      totals.push_back(gradient_total(saved[i], context->needs_input_grad(i)));
    const bool wants_x = context->needs_input_grad(0);
    const bool through_norm = wants_x || totals[0].defined() || totals[1].defined();
    at::Tensor dx = wants_x ? at::empty(rows.sizes(), rows.options()) : at::Tensor();

    if (fast_rows(rows, p) && w1.size(0) % 2 == 0) {
      backward_fast(rows, dy.to(p.operand), saved, w1, w2, w3, call->panel, totals, dx, through_norm);
      return results(saved, totals, dx);
    }
    for_row_panels(rows.size(0), call->panel, [&](std::int64_t begin, std::int64_t count) {
      const at::Tensor x = rows.narrow(0, begin, count).to(p.norm), g = dy.narrow(0, begin, count);
      const NormedRows in = normalise(x, w, b);
      const at::Tensor normed = in.value.to(p.operand);
      // y = fc3 h, h = silu(u) v:  du = dh v silu'(u),  dv = dh silu(u)
      const at::Tensor u = at::mm(normed, w1.t()), v = at::mm(normed, w2.t());
      at::Tensor dh = at::mm(g, w3);
      const at::Tensor du = at::silu_backward(dh * v, u);
      const at::Tensor gate = at::silu(u);
      const at::Tensor dv = dh.mul_(gate);
      add_weight_gradient(totals[4], g, gate * v);
      add_weight_gradient(totals[2], du, normed);
      add_weight_gradient(totals[3], dv, normed);
      if (!through_norm) return;
      const at::Tensor dnormed =
          at::zeros({count, x.size(1)}, x.options().dtype(at::promote_types(p.norm, at::kFloat)));
      add_input_gradient(dnormed, du, w1);
      add_input_gradient(dnormed, dv, w2);
      const at::Tensor panel = normalise_backward(dnormed.to(p.norm), x, in, w, b, totals[0], totals[1], wants_x);
      if (wants_x) dx.narrow(0, begin, count).copy_(panel);
    });
    return results(saved, totals, dx);
  }

 private:
  static variable_list results(const variable_list& saved, const std::vector<at::Tensor>& totals,
                               const at::Tensor& dx) {
    variable_list result{dx.defined() ? dx.view(saved[0].sizes()) : dx};
    for (std::size_t i = 1; i < saved.size(); ++i) result.push_back(as_gradient(totals[i - 1], saved[i]));
    result.emplace_back();
    return result;
  }

  /// The same mathematics over fast rows; products that feed the norm come out in fp32.
  static void backward_fast(const at::Tensor& rows, const at::Tensor& dy, const variable_list& saved,
                            const at::Tensor& w1, const at::Tensor& w2, const at::Tensor& w3, std::int64_t panel,
                            const std::vector<at::Tensor>& totals, const at::Tensor& dx, bool through_norm) {
    for_row_panels(rows.size(0), panel, [&](std::int64_t begin, std::int64_t count) {
      const at::Tensor x = rows.narrow(0, begin, count), g = dy.narrow(0, begin, count);
      const at::Tensor normed = fast_normalise(x, saved[1], saved[2]);
      const at::Tensor du = at::mm(normed, w1.t()), dv = at::mm(normed, w2.t()), h = at::mm(g, w3);
      fast_gate_backward(du, dv, h);
      add_weight_gradient(totals[4], g, h);
      add_weight_gradient(totals[2], du, normed);
      add_weight_gradient(totals[3], dv, normed);
      if (!through_norm) return;
      at::Tensor dnormed = at::mm(du, w1, at::kFloat);
      dnormed.add_(at::mm(dv, w2, at::kFloat));
      const at::Tensor result = fast_normalise_backward(dnormed, x, saved[1], totals[0], totals[1]);
      if (dx.defined()) dx.narrow(0, begin, count).copy_(result);
    });
  }
};

}  // namespace

TransitionImpl::TransitionImpl(std::int64_t dim, std::int64_t hidden, std::int64_t out_dim,
                               const TransitionOptions& options)
    : options(options),
      norm(register_module("norm", Norm(dim))),
      fc1(register_module("fc1", Projection(dim, hidden))),
      fc2(register_module("fc2", Projection(dim, hidden))),
      fc3(register_module("fc3", Projection(hidden, out_dim > 0 ? out_dim : dim))) {}

at::Tensor TransitionImpl::forward_local(const at::Tensor& x) { return apply(x, false, false); }

at::Tensor TransitionImpl::residual_local(const at::Tensor& x, bool overwrite) { return apply(x, true, overwrite); }

at::Tensor TransitionImpl::apply(const at::Tensor& x, bool residual, bool overwrite) {
  if (x.size(-1) != norm->weight.size(0))
    throw ContractError("transition takes rows of " + std::to_string(norm->weight.size(0)) + " channels, got " +
                        std::to_string(x.size(-1)));
  if (residual && fc3->weight.size(0) != x.size(-1))
    throw ContractError("transition: a residual sum needs as many output channels as input channels");
  auto call = c10::make_intrusive<TransitionCall>();
  call->precision = Precision::of(x);
  call->panel = panel_rows(x.numel() / x.size(-1), 32, options.panel_rows, x.is_cuda());
  const TransitionWeights weights{norm->weight, norm->bias, fc1->weight, fc2->weight, fc3->weight};
  call->fused = options.fused && takes_fused_transition(as_rows(x), call->precision, weights);
  // A residual stream that dropout has made fp32 is read as bf16, and the sum stays outside.
  const at::Tensor input = call->fused ? x.to(call->precision.operand) : x;
  call->residual = residual && call->fused && input.scalar_type() == x.scalar_type();
  bool save = at::GradMode::is_enabled() && x.requires_grad();
  for (const at::Tensor& p : parameters()) save |= at::GradMode::is_enabled() && p.requires_grad();
  call->overwrite = call->residual && overwrite && !save && x.is_contiguous();
  const at::Tensor y =
      TransitionFunction::apply(input, weights.norm, weights.norm_bias, weights.fc1, weights.fc2, weights.fc3, call);
  return residual && !call->residual ? x + y : y;
}

}  // namespace cpize::trunk
