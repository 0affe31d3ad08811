#include "trunk/pair_assembly.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "error/error.hpp"
#include "trunk/fast_pairs.hpp"
#include "trunk/precision.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct AssemblyCall : torch::CustomClassHolder {
  RelativePositionOptions options;
  RelativePositionIds ids;
  at::Tensor bonds;
};

/// f(b, begin, count) for panels of rows of each sample, so that indices and sums of a panel stay small beside z.
template <class F>
void for_panels(const at::Tensor& z, F f) {
  const std::int64_t n0 = z.size(1), n1 = z.size(2);
  if (n1 == 0) return;
  const std::int64_t panel = std::max<std::int64_t>(1, panel_rows(n0 * n1, 16, 0, z.is_cuda()) / n1);
  for (std::int64_t b = 0; b < z.size(0); ++b)
    for_row_panels(n0, panel, [&](std::int64_t begin, std::int64_t count) { f(b, begin, count); });
}

struct Assembly : torch::autograd::Function<Assembly> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows, const at::Tensor& columns,
                            const at::Tensor& rel_pos, const at::Tensor& bond,
                            const c10::intrusive_ptr<AssemblyCall>& call) {
    const NoAutocast no_autocast(rows);
    context->save_for_backward({rel_pos, bond});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    const auto dtype = rows.scalar_type(), wide = at::promote_types(dtype, at::kFloat);
    // Look-up table: a column of the weight a row, then a row of zeros for "another entity".
    const at::Tensor table = at::constant_pad_nd(rel_pos.to(dtype).to(wide).t(), {0, 0, 0, 1});
    const at::Tensor bond_row = bond.to(dtype).to(wide).t();
    at::Tensor z = at::empty({rows.size(0), rows.size(1), columns.size(1), rows.size(2)}, rows.options());
    const bool fast = z.numel() > 0 && fast_pairs(z, table.size(0));
    for_panels(z, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
      const auto index =
          relative_position_indices(call->ids.rows[b].narrow(0, begin, count), call->ids.columns[b], call->options);
      if (fast) {
        fast_assemble(rows[b].narrow(0, begin, count), columns[b], table, bond_row.view({-1}), index,
                      call->bonds[b].narrow(0, begin, count).reshape({-1}), z[b].narrow(0, begin, count));
        return;
      }
      at::Tensor panel = at::index_select(table, 0, index[0]);
      for (std::size_t i = 1; i < index.size(); ++i) panel.add_(at::index_select(table, 0, index[i]));
      const at::Tensor bonds = call->bonds[b].narrow(0, begin, count).reshape({-1, 1});
      panel.addmm_(bonds.to(wide), bond_row);
      panel = panel.view({count, columns.size(1), -1});
      panel.add_(rows[b].narrow(0, begin, count).unsqueeze(1)).add_(columns[b].unsqueeze(0));
      z[b].narrow(0, begin, count).copy_(panel);
    });
    return z;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "pair initialisation: its backward is hand-written and has no gradient of its own (create_graph = true); use "
          "the "
          "serial block for second derivatives");
    const auto saved = context->get_saved_variables();
    auto call = c10::static_intrusive_pointer_cast<AssemblyCall>(context->saved_data["call"].toCapsule());
    const at::Tensor& g = gradients[0];
    const NoAutocast no_autocast(g);
    const auto wide = at::promote_types(g.scalar_type(), at::kFloat);
    const std::int64_t channels = g.size(3), classes = call->options.columns() + 1;
    at::Tensor drows, dcolumns, table, dbond;
    if (context->needs_input_grad(0)) drows = g.sum(2);
    if (context->needs_input_grad(1)) dcolumns = g.sum(1);
    if (context->needs_input_grad(2)) table = at::zeros({classes, channels}, g.options().dtype(wide));
    if (context->needs_input_grad(3)) dbond = gradient_total(saved[1], true);
    const bool fast = g.numel() > 0 && table.defined() && dbond.defined() && dbond.scalar_type() == at::kFloat &&
                      fast_pairs(g, classes);
    for_panels(g, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
      if (fast) {
        const auto index =
            relative_position_indices(call->ids.rows[b].narrow(0, begin, count), call->ids.columns[b], call->options);
        fast_pair_sums(g[b].narrow(0, begin, count), index, call->bonds[b].narrow(0, begin, count).reshape({-1}), table,
                       dbond.view({-1}));
        return;
      }
      const at::Tensor panel = g[b].narrow(0, begin, count).reshape({-1, channels}).to(wide);
      if (table.defined())
        for (const auto& index :
             relative_position_indices(call->ids.rows[b].narrow(0, begin, count), call->ids.columns[b], call->options))
          table.add_(at::embedding_dense_backward(panel, index, classes, /*padding_idx=*/-1, false));
      add_weight_gradient(dbond, panel, call->bonds[b].narrow(0, begin, count).reshape({-1, 1}));
    });
    at::Tensor drel_pos = table.defined() ? table.narrow(0, 0, classes - 1).t().to(saved[0].scalar_type()) : table;
    return {drows, dcolumns, drel_pos, as_gradient(dbond, saved[1]), {}};
  }
};

}  // namespace

at::Tensor assemble_pairs(const at::Tensor& rows, const at::Tensor& columns, const at::Tensor& rel_pos_weight,
                          const at::Tensor& bond_weight, const RelativePositionIds& ids, const at::Tensor& bonds,
                          const RelativePositionOptions& options) {
  auto call = c10::make_intrusive<AssemblyCall>();
  call->options = options;
  call->ids = ids;
  call->bonds = bonds;
  return Assembly::apply(rows, columns, rel_pos_weight, bond_weight, call);
}

}  // namespace cpize::trunk
