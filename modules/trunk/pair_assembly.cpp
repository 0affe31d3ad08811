#include "trunk/pair_assembly.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "error/error.hpp"
#include "trunk/fast_pairs.hpp"
#include "trunk/precision.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A look-up or a map without its differentiable tensors: their places in the list of inputs.
struct LookUp {
  std::size_t table;
  std::int64_t rows, indices;
  decltype(PairLookUp::index) index;
};
struct Map {
  std::size_t weight;
  std::optional<std::size_t> source;
  std::int64_t width;
  decltype(PairMap::features) features;
  decltype(PairMap::source_gradient) source_gradient;
};

struct AssemblyCall : torch::CustomClassHolder {
  std::int64_t samples = 0, n0 = 0, n1 = 0, channels = 0;
  at::TensorOptions options;
  bool tokens = false;  // the first two inputs are rows and columns
  std::vector<LookUp> look_ups;
  std::vector<Map> maps;
  std::vector<at::ScalarType> dtypes;  // of the inputs

  at::ScalarType wide() const { return at::promote_types(c10::typeMetaToScalarType(options.dtype()), at::kFloat); }
  /// A weight as the linear layer of an autocast region would read it, then wide.
  at::Tensor rounded(const at::Tensor& weight) const { return weight.to(options.dtype()).to(wide()); }
  /// Whether rows, columns, the first look-up and the first map take one kernel.
  bool has_kernel(const at::Tensor& pairs) const {
    return pairs.numel() > 0 && tokens && !look_ups.empty() && look_ups[0].indices == 4 && !maps.empty() &&
           maps[0].width == 1 && !maps[0].source && fast_pairs(pairs, look_ups[0].rows);
  }
};

/// f(rows) for panels of rows of each sample, so that what is made for a panel stays small beside z.
template <class F>
void for_panels(const AssemblyCall& call, F f) {
  if (call.n1 == 0) return;
  // Of a small shard on a CPU single rows: calls cost little there, and small shards take the path of large ones.
  const bool on_gpu = call.options.device().is_cuda();
  const std::int64_t fewest = on_gpu ? 0 : 1;
  const std::int64_t panel = std::max<std::int64_t>(1, panel_rows(call.n0 * call.n1, 16, 0, on_gpu, fewest) / call.n1);
  for (std::int64_t b = 0; b < call.samples; ++b)
    for_row_panels(call.n0, panel, [&](std::int64_t begin, std::int64_t count) { f(PairRows{b, begin, count}); });
}

/// total [K, C] (fp64) += features [pairs, K]^T g [pairs, C], in fp32 by short blocks: a bias among the features is a
/// plain sum over all pairs of the shard, and one long product would add it up term by term.
void add_feature_sums(at::Tensor total, const at::Tensor& features, const at::Tensor& g) {
  constexpr std::int64_t kBlock = 128;
  const std::int64_t pairs = g.size(0), blocks = g.scalar_type() == at::kDouble ? 0 : pairs / kBlock;
  const std::int64_t in_blocks = blocks * kBlock;
  const auto cut = [&](const at::Tensor& x) { return x.narrow(0, 0, in_blocks).view({blocks, kBlock, -1}); };
  const auto rest = [&](const at::Tensor& x) { return x.narrow(0, in_blocks, pairs - in_blocks); };
  if (blocks > 0) total.add_(at::bmm(cut(features).transpose(1, 2), cut(g)).sum(0));
  if (in_blocks < pairs) total.add_(at::mm(rest(features).t(), rest(g)));
}

/// table [classes, C] += the rows of `gradient` that looked each class up. On a GPU as a product with a matrix of zeros
/// and ones, a slice of rows at a time: sorting the rows by class, as the library does, makes the order of a sum depend
/// on what padded rows looked up.
void add_look_up_sums(const at::Tensor& table, const std::vector<at::Tensor>& indices, const at::Tensor& gradient) {
  at::Tensor sum = table;
  if (!gradient.is_cuda()) {
    for (const auto& index : indices)
      sum.add_(at::embedding_dense_backward(gradient, index, table.size(0), /*padding_idx=*/-1, false));
    return;
  }
  constexpr std::int64_t kRows = 16384;
  for_row_panels(gradient.size(0), kRows, [&](std::int64_t begin, std::int64_t count) {
    at::Tensor members = at::zeros({count, table.size(0)}, gradient.options());
    const at::Tensor one = at::ones({}, gradient.options());
    for (const auto& index : indices) {
      const at::Tensor classes = index.narrow(0, begin, count).unsqueeze(1);
      members.scatter_add_(1, classes, one.expand_as(classes));  // exact: numbers of members
    }
    sum.addmm_(members.t(), gradient.narrow(0, begin, count));
  });
}

struct Assembly : torch::autograd::Function<Assembly> {
  static at::Tensor forward(AutogradContext* context, at::TensorList inputs,
                            const c10::intrusive_ptr<AssemblyCall>& call) {
    const NoAutocast no_autocast(inputs[0]);
    const AssemblyCall& c = *call;
    variable_list operands;  // of the maps whose features have a gradient
    for (const Map& map : c.maps)
      if (map.source) operands.push_back(inputs[map.weight]);
    context->save_for_backward(operands);
    context->saved_data["call"] = c10::IValue::make_capsule(call);

    std::vector<at::Tensor> tables, weights;
    for (const LookUp& look_up : c.look_ups) tables.push_back(c.rounded(inputs[look_up.table]));
    for (const Map& map : c.maps) weights.push_back(c.rounded(inputs[map.weight]));
    at::Tensor z = at::empty({c.samples, c.n0, c.n1, c.channels}, c.options);
    const bool kernel = c.has_kernel(z);
    for_panels(c, [&](const PairRows& rows) {
      const auto tokens = [&] { return inputs[0][rows.sample].narrow(0, rows.begin, rows.count); };
      at::Tensor panel = z[rows.sample].narrow(0, rows.begin, rows.count);
      at::Tensor sum;
      if (kernel) {
        fast_assemble(tokens(), inputs[1][rows.sample], tables[0], weights[0].view({-1}), c.look_ups[0].index(rows),
                      c.maps[0].features(rows).reshape({-1}), panel);
        if (tables.size() == 1 && weights.size() == 1) return;
        sum = panel.to(c.wide(), /*non_blocking=*/false, /*copy=*/true).view({-1, c.channels});
      }
      for (std::size_t k = kernel; k < tables.size(); ++k)
        for (const auto& index : c.look_ups[k].index(rows)) {
          const at::Tensor looked_up = at::index_select(tables[k], 0, index);
          sum = sum.defined() ? sum.add_(looked_up) : looked_up;
        }
      for (std::size_t k = kernel; k < weights.size(); ++k) {
        const at::Tensor features = c.maps[k].features(rows).to(c.wide());
        sum = sum.defined() ? sum.addmm_(features, weights[k]) : at::mm(features, weights[k]);
      }
      sum = sum.view({rows.count, c.n1, c.channels});
      if (c.tokens && !kernel) sum.add_(tokens().unsqueeze(1)).add_(inputs[1][rows.sample].unsqueeze(0));
      panel.copy_(sum);
    });
    return z;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented(
          "pair assembly: its backward is hand-written and has no gradient of its own (create_graph = true); use the "
          "serial block for second derivatives");
    auto call = c10::static_intrusive_pointer_cast<AssemblyCall>(context->saved_data["call"].toCapsule());
    const AssemblyCall& c = *call;
    const at::Tensor& g = gradients[0];
    const NoAutocast no_autocast(g);
    const auto total = [&](std::size_t input, at::IntArrayRef shape, at::ScalarType dtype) {
      return context->needs_input_grad(input) ? at::zeros(shape, g.options().dtype(dtype)) : at::Tensor();
    };
    const bool kernel = !c.look_ups.empty() && context->needs_input_grad(c.look_ups[0].table) && !c.maps.empty() &&
                        context->needs_input_grad(c.maps[0].weight) && c.has_kernel(g);
    const auto saved = context->get_saved_variables();
    auto operand = saved.begin();
    std::vector<at::Tensor> tables, weights, sources, operands;
    for (const LookUp& l : c.look_ups) tables.push_back(total(l.table, {l.rows, c.channels}, c.wide()));
    for (const Map& m : c.maps) {
      weights.push_back(total(m.weight, {m.width, c.channels}, kernel && weights.empty() ? at::kFloat : at::kDouble));
      sources.push_back(m.source ? total(*m.source, {c.samples, c.n0, c.n1}, c.wide()) : at::Tensor());
      operands.push_back(m.source ? c.rounded(*operand++).t() : at::Tensor());
    }
    for_panels(c, [&](const PairRows& rows) {
      const at::Tensor of_rows = g[rows.sample].narrow(0, rows.begin, rows.count);
      if (kernel) {
        fast_pair_sums(of_rows, c.look_ups[0].index(rows), c.maps[0].features(rows).reshape({-1}), tables[0],
                       weights[0].view({-1}));
        if (tables.size() == 1 && weights.size() == 1) return;
      }
      const at::Tensor panel = of_rows.reshape({-1, c.channels}).to(c.wide());
      for (std::size_t k = kernel; k < tables.size(); ++k)
        if (tables[k].defined()) add_look_up_sums(tables[k], c.look_ups[k].index(rows), panel);
      for (std::size_t k = kernel; k < weights.size(); ++k) {
        if (weights[k].defined()) add_feature_sums(weights[k], c.maps[k].features(rows).to(c.wide()), panel);
        if (sources[k].defined())
          sources[k][rows.sample]
              .narrow(0, rows.begin, rows.count)
              .copy_(c.maps[k].source_gradient(rows, at::mm(panel, operands[k])).view({rows.count, c.n1}));
      }
    });

    variable_list result(c.dtypes.size() + 1);  // the call has none
    if (c.tokens && context->needs_input_grad(0)) result[0] = g.sum(2);
    if (c.tokens && context->needs_input_grad(1)) result[1] = g.sum(1);
    const auto give = [&](std::size_t input, const at::Tensor& sum) {
      if (sum.defined()) result[input] = sum.to(c.dtypes[input]);
    };
    for (std::size_t k = 0; k < tables.size(); ++k) give(c.look_ups[k].table, tables[k]);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      give(c.maps[k].weight, weights[k]);
      if (c.maps[k].source) give(*c.maps[k].source, sources[k]);
    }
    return result;
  }
};

}  // namespace

at::Tensor PairRows::of(const at::Tensor& x) const { return x[sample].narrow(0, begin, count).flatten(0, 1); }

at::Tensor assemble_pairs(const PairTerms& terms, std::int64_t samples, std::int64_t n0, std::int64_t n1,
                          const at::TensorOptions& options) {
  auto call = c10::make_intrusive<AssemblyCall>();
  call->samples = samples, call->n0 = n0, call->n1 = n1;
  call->options = options.requires_grad(false);
  std::vector<at::Tensor> inputs;
  const auto place = [&](const at::Tensor& x) {
    inputs.push_back(x);
    return inputs.size() - 1;
  };
  if (terms.rows.defined()) {
    call->tokens = true;
    place(terms.rows);
    place(terms.columns);
  }
  for (const PairLookUp& l : terms.look_ups)
    call->look_ups.push_back({place(l.table), l.table.size(0), l.indices, l.index});
  for (const PairMap& m : terms.maps) {
    Map map{place(m.weight), std::nullopt, m.weight.size(0), m.features, m.source_gradient};
    if (m.source.defined()) map.source = place(m.source);
    call->maps.push_back(std::move(map));
  }
  if (call->look_ups.empty() && call->maps.empty())
    throw ContractError("pair assembly: a pair tensor needs a look-up or a map beside its rows and columns");
  call->channels = terms.look_ups.empty() ? terms.maps[0].weight.size(1) : terms.look_ups[0].table.size(1);
  for (const auto& x : inputs) call->dtypes.push_back(x.scalar_type());
  return Assembly::apply(at::TensorList(inputs), call);
}

}  // namespace cpize::trunk
