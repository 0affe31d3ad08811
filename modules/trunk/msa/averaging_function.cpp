#include "trunk/msa/averaging_function.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>

#include "error/error.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor as_rows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

struct AveragingFunction : torch::autograd::Function<AveragingFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& m, const at::Tensor& z,
                            const at::Tensor& norm_m, const at::Tensor& norm_m_bias, const at::Tensor& norm_z,
                            const at::Tensor& norm_z_bias, const at::Tensor& proj_m, const at::Tensor& proj_g,
                            const at::Tensor& proj_z, const at::Tensor& proj_o, const Sharded<Pair>& mask,
                            const c10::intrusive_ptr<AveragingCall>& call) {
    const NoAutocast no_autocast(m);
    const AveragingWeights weights{norm_m, norm_m_bias, norm_z, norm_z_bias, proj_m, proj_g, proj_z, proj_o};
    make_logits(*call, as_rows(z), mask, weights);
    const at::Tensor y = averaging_forward(*call, m, weights);
    if (call->save) {
      context->save_for_backward({m, z, norm_m, norm_m_bias, norm_z, norm_z_bias, proj_m, proj_g, proj_z, proj_o});
      context->saved_data["call"] = c10::IValue::make_capsule(call);
    }
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "pair-weighted averaging: its backward is hand-written and has no gradient of its own (create_graph = true); "
          "use the serial block for second derivatives");
    const auto saved = context->get_saved_variables();
    auto call = c10::static_intrusive_pointer_cast<AveragingCall>(context->saved_data["call"].toCapsule());
    const NoAutocast no_autocast(saved[0]);
    const AveragingWeights weights{saved[2], saved[3], saved[4], saved[5], saved[6], saved[7], saved[8], saved[9]};
    std::array<bool, 10> wanted{};
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = context->needs_input_grad(i);
    const auto g = averaging_backward(*call, saved[0], as_rows(saved[1]), weights, gradients[0], wanted);
    if (!torch::autograd::get_current_graph_task_keep_graph()) call->logits.reset();
    const auto& w = g.weights;
    return {g.m,      g.z.defined() ? g.z.view(saved[1].sizes()) : g.z,
            w.norm_m, w.norm_m_bias,
            w.norm_z, w.norm_z_bias,
            w.proj_m, w.proj_g,
            w.proj_z, w.proj_o,
            {},       {}};
  }
};

std::vector<HeadGroup> head_groups(std::int64_t heads, std::int64_t at_once) {
  std::vector<HeadGroup> groups;
  for (std::int64_t begin = 0; begin < heads; begin += at_once)
    groups.push_back({begin, std::min(at_once, heads - begin)});
  return groups;
}

}  // namespace

AveragingWeights AveragingWeights::cast(const Precision& precision) const {
  const auto n = precision.norm, o = precision.operand;
  return {norm_m.to(n), norm_m_bias.to(n), norm_z.to(n), norm_z_bias.to(n),
          proj_m.to(o), proj_g.to(o),      proj_z.to(o), proj_o.to(o)};
}

at::Tensor pair_weighted_averaging(const Sharded<Msa>& m, const Sharded<Pair>& z, const Sharded<Pair>& mask,
                                   std::int64_t heads, const PairWeightedAveragingOptions& options,
                                   const AveragingWeights& w) {
  auto call = c10::make_intrusive<AveragingCall>();
  call->mesh = m.mesh();
  call->pairs = mask.global();
  call->precision = Precision::of(m.local());
  call->heads = heads;
  call->head_width = w.proj_m.size(0) / heads;
  const std::int64_t tokens = m.global()[2], ranks = m.mesh()->shape().cp_size();
  const bool on_gpu = m.local().is_cuda();
  const std::int64_t fitting = std::max<std::int64_t>(1, z.global().back() / (16 * ranks));
  call->groups = head_groups(heads, std::min(heads, options.heads_at_once > 0 ? options.heads_at_once : fitting));
  const std::int64_t positions = m.local().numel() / m.local().size(3);
  call->depth = std::max<std::int64_t>(
      1, panel_rows(positions, 8, options.panel_rows, on_gpu) / std::max<std::int64_t>(1, tokens));
  call->panel = panel_rows(mask.local().numel(), 16, options.panel_rows, on_gpu);
  for (const at::Tensor* t : {&m.local(), &z.local(), &w.norm_m, &w.norm_m_bias, &w.norm_z, &w.norm_z_bias, &w.proj_m,
                              &w.proj_g, &w.proj_z, &w.proj_o})
    call->save |= at::GradMode::is_enabled() && t->requires_grad();
  return AveragingFunction::apply(m.local(), z.local(), w.norm_m, w.norm_m_bias, w.norm_z, w.norm_z_bias, w.proj_m,
                                  w.proj_g, w.proj_z, w.proj_o, mask, call);
}

}  // namespace cpize::trunk
