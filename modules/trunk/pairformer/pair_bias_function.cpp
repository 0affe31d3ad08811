#include "trunk/pairformer/pair_bias_function.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <cmath>

#include "error/error.hpp"
#include "layout/box.hpp"
#include "trunk/pairformer/pair_bias_fused.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kFusedPanel = 1 << 19;  // pairs

struct PairBiasFunction : torch::autograd::Function<PairBiasFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k_in, const at::Tensor& z,
                            const at::Tensor& key, const at::Tensor& value, const at::Tensor& norm,
                            const at::Tensor& norm_bias, const at::Tensor& bias,
                            const c10::intrusive_ptr<PairBiasCall>& call) {
    const NoAutocast no_autocast(q);
    if (call->save) {
      context->save_for_backward({q, k_in, z, key, value, norm, norm_bias, bias});
      context->saved_data["call"] = c10::IValue::make_capsule(call);
    }
    return pair_bias_forward(*call, q, k_in, z, {key, value, norm, norm_bias, bias}).view(q.sizes());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "attention with pair bias: its backward is hand-written and has no gradient of its own (create_graph = "
          "true); "
          "use the serial block for second derivatives");
    const auto s = context->get_saved_variables();
    auto call = c10::static_intrusive_pointer_cast<PairBiasCall>(context->saved_data["call"].toCapsule());
    const NoAutocast no_autocast(s[0]);
    std::array<bool, 8> wanted{};
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = context->needs_input_grad(i);
    const bool consume = !torch::autograd::get_current_graph_task_keep_graph();
    auto g = pair_bias_backward(*call, s[0], s[1], s[2], {s[3], s[4], s[5], s[6], s[7]}, gradients[0], wanted, consume);
    const auto& w = g.weights;
    return {g.q, g.k_in, g.z, w.key, w.value, w.norm, w.norm_bias, w.bias, {}};
  }
};

/// [b,m] bool of the column tokens: masked while others of the sample are not. The mask travels whole: it is one number
/// a token, and whether a sample has any valid key must be known before the first score.
at::Tensor excluded_keys(const Sharded<Single>& mask) {
  const at::Tensor whole = redistribute<SingleWhole>(mask).local().detach();
  const at::Tensor excluded = whole < whole.amax(-1, /*keepdim=*/true);
  const Box columns = box_of(SingleCol::spec, mask.global(), mask.mesh()->shape(), mask.mesh()->coordinates());
  return excluded.narrow(1, columns.low[1], columns.size[1]).contiguous();
}

}  // namespace

at::Tensor PairBiasCall::by_head(const at::Tensor& x) const {
  const std::int64_t samples = x.size(0), tokens = x.size(1), channels = x.size(-1) / (x.dim() == 4 ? heads : 1);
  return x.view({samples, tokens, copies, heads, channels})
      .permute({0, 2, 3, 1, 4})
      .to(precision.wide, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous)
      .view({samples, copies * heads, tokens, channels});
}

at::Tensor PairBiasCall::by_token(const at::Tensor& x) const {
  const std::int64_t samples = x.size(0), tokens = x.size(2), channels = x.size(3);
  return x.view({samples, copies, heads, tokens, channels})
      .permute({0, 3, 1, 2, 4})
      .reshape({samples, tokens, copies, heads * channels});
}

BiasPanel::BiasPanel(const PairBiasCall& call, const at::Tensor& z, const PairBiasWeights& w) : rows(z) {
  if (!call.projected) {
    bias = z;
    return;
  }
  rows = z.to(call.norm);
  normed = normalise(rows, w.norm.to(call.norm), w.norm_bias.to(call.norm));
  operand = normed.value.to(call.precision.operand);
  bias = at::mm(operand, w.bias.to(call.precision.operand).t());
}

KeysAndValues keys_and_values(const PairBiasCall& call, const at::Tensor& column_tokens, const PairBiasWeights& w) {
  const at::Tensor tokens = column_tokens.to(call.precision.operand);
  const auto project = [&](const at::Tensor& weight) {
    const at::Tensor projected = at::linear(tokens, weight.to(call.precision.operand));
    return call.by_head(projected.masked_fill(call.excluded.unsqueeze(-1).unsqueeze(-1), 0));
  };
  return {project(w.key), project(w.value)};
}

at::Tensor panel_logits(const PairBiasCall& call, const at::Tensor& queries, const at::Tensor& keys,
                        const at::Tensor& z, const PairBiasWeights& weights, const at::Tensor& excluded,
                        std::optional<BiasPanel>* panel) {
  if (call.fused) {  // the bias comes by head, so scores are added in its place
    at::Tensor by_head = fused_bias(z, weights, excluded);
    if (call.copies > 1) by_head = by_head.repeat({call.copies, 1, 1});
    return by_head.baddbmm_(queries, keys.transpose(1, 2));
  }
  const BiasPanel bias(call, z.reshape({-1, z.size(-1)}), weights);
  if (panel != nullptr) *panel = bias;
  at::Tensor logits = at::bmm(queries, keys.transpose(1, 2));
  const std::int64_t rows = logits.size(1), columns = logits.size(2);
  const at::Tensor by_pair = bias.bias.view({rows, columns, call.heads}).to(call.precision.wide);
  logits.view({call.copies, call.heads, rows, columns})
      .add_(by_pair.masked_fill(excluded.unsqueeze(-1), kExcludedLogit).permute({2, 0, 1}));
  return logits;
}

at::Tensor pair_bias_attention(const Sharded<Single>& q, const Sharded<Single>& k_in, const Sharded<Pair>& z,
                               const Sharded<Single>& mask, const PairBiasWeights& w,
                               const AttentionPairBiasOptions& options) {
  const auto with_copies = [](Shape shape) {
    if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
    return shape;
  };
  auto call = c10::make_intrusive<PairBiasCall>();
  call->mesh = q.mesh();
  call->queries = with_copies(q.global());
  call->keys = with_copies(k_in.global());
  call->heads = options.num_heads;
  call->width = options.c_s / options.num_heads;
  call->copies = call->queries[2];
  call->precision = Precision::of(q.local());
  call->norm = at::promote_types(call->precision.norm, z.local().scalar_type());
  call->projected = options.compute_pair_bias;
  call->excluded = excluded_keys(mask);
  const std::int64_t columns = std::max<std::int64_t>(1, z.local().size(2));
  const std::int64_t pairs = z.local().size(0) * z.local().size(1) * columns;
  call->fused = takes_fused_bias(*call, z.local(), w);
  // A panel's scores in fp32 stay in a GPU's L2, and its calls take less time than its work.
  const std::int64_t wanted = options.panel_rows > 0 || !call->fused ? options.panel_rows : kFusedPanel;
  call->rows = std::max<std::int64_t>(1, panel_rows(pairs, 32, wanted, z.local().is_cuda()) / columns);
  for (const at::Tensor* t : {&q.local(), &k_in.local(), &z.local(), &w.key, &w.value, &w.norm, &w.norm_bias, &w.bias})
    call->save |= at::GradMode::is_enabled() && t->requires_grad();
  return PairBiasFunction::apply(q.local(), k_in.local(), z.local(), w.key, w.value, w.norm, w.norm_bias, w.bias, call);
}

}  // namespace cpize::trunk
