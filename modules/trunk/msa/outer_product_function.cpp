#include "trunk/msa/outer_product_function.hpp"

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
at::Tensor as_column(const at::Tensor& mask, at::ScalarType dtype) { return mask.reshape({-1, 1}).to(dtype); }

struct OuterProductFunction : torch::autograd::Function<OuterProductFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& m, const at::Tensor& mask,
                            const at::Tensor& norm, const at::Tensor& norm_bias, const at::Tensor& proj_a,
                            const at::Tensor& proj_b, const at::Tensor& proj_o, const at::Tensor& proj_o_bias,
                            const c10::intrusive_ptr<OuterProductCall>& call) {
    const NoAutocast no_autocast(m);
    const OuterProductWeights weights{norm, norm_bias, proj_a, proj_b, proj_o, proj_o_bias};
    make_operands(*call, as_rows(m), as_column(mask, call->precision.operand), weights);
    const at::Tensor z = product_tiles(*call, weights);
    if (call->save) {
      context->save_for_backward({m, mask, norm, norm_bias, proj_a, proj_b, proj_o, proj_o_bias});
      context->saved_data["call"] = c10::IValue::make_capsule(call);
    }
    return z;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "outer product mean: its backward is hand-written and has no gradient of its own (create_graph = true); use "
          "the serial block for second derivatives");
    const auto saved = context->get_saved_variables();
    auto call = c10::static_intrusive_pointer_cast<OuterProductCall>(context->saved_data["call"].toCapsule());
    const NoAutocast no_autocast(saved[0]);
    const OuterProductWeights weights{saved[2], saved[3], saved[4], saved[5], saved[6], saved[7]};
    std::array<bool, 7> wanted{context->needs_input_grad(0)};
    for (std::size_t i = 1; i < wanted.size(); ++i) wanted[i] = context->needs_input_grad(i + 1);  // 1 is the mask
    const bool through_operands = std::any_of(wanted.begin(), wanted.begin() + 5, [](bool w) { return w; });

    TileGradients tiles = tile_gradients(*call, weights, gradients[0], through_operands, wanted[5], wanted[6]);
    if (!torch::autograd::get_current_graph_task_keep_graph()) {
      call->a.reset();
      call->b.reset();
      call->count.reset();
    }
    OperandGradients operands;
    if (through_operands)
      operands = operand_gradients(*call, std::move(tiles.a), std::move(tiles.b), as_rows(saved[0]),
                                   as_column(saved[1], call->precision.operand), weights, wanted);
    return {operands.m.defined() ? operands.m.view(saved[0].sizes()) : operands.m,
            {},
            operands.norm,
            operands.norm_bias,
            operands.proj_a,
            operands.proj_b,
            as_gradient(tiles.proj_o, weights.proj_o),
            as_gradient(tiles.proj_o_bias, weights.proj_o_bias),
            {}};
  }
};

}  // namespace

at::Tensor outer_product_mean(const Sharded<Msa>& m, const at::Tensor& mask, const OuterProductMeanOptions& options,
                              const OuterProductWeights& w) {
  auto call = c10::make_intrusive<OuterProductCall>();
  call->mesh = m.mesh();
  call->global = m.global();
  call->precision = Precision::of(m.local());
  call->hidden = w.proj_a.size(0);
  const bool on_gpu = m.local().is_cuda();
  const Shape pairs =
      box_of(Pair::spec, {m.global()[0], m.global()[2], m.global()[2]}, m.mesh()->shape(), m.mesh()->coordinates())
          .size;
  // A pair has hidden^2 channels here, so fewer pairs than of other panels are work enough for a GPU.
  const std::int64_t fewest = on_gpu ? 256 : 0;
  call->tile_rows = std::max<std::int64_t>(
      1, panel_rows(pairs[1] * pairs[2], 32, options.tile_pairs, on_gpu, fewest) / std::max<std::int64_t>(1, pairs[2]));
  call->panel = panel_rows(mask.numel(), 16, options.panel_rows, on_gpu);
  for (const at::Tensor* t : {&m.local(), &w.norm, &w.norm_bias, &w.proj_a, &w.proj_b, &w.proj_o, &w.proj_o_bias})
    call->save |= at::GradMode::is_enabled() && t->requires_grad();
  return OuterProductFunction::apply(m.local(), mask, w.norm, w.norm_bias, w.proj_a, w.proj_b, w.proj_o, w.proj_o_bias,
                                     call);
}

}  // namespace cpize::trunk
