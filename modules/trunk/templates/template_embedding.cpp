#include "trunk/templates/template_embedding.hpp"

#include <ATen/ATen.h>

#include "trunk/precision.hpp"

namespace cpize::trunk {
namespace {

/// The tokens of one template, and what a panel of pairs makes of them.
struct Geometry {
  TemplateTokens rows, columns;  // [B,n,..]
  at::Tensor edges;              // [num_bins - 1]

  static TemplateTokens of_template(const TemplateTokens& x, std::int64_t t) {
    const auto at = [t](const at::Tensor& all) { return all.select(1, t); };
    return {at(x.types),  at(x.cb),      at(x.ca),         at(x.rotation),
            at(x.origin), at(x.mask_cb), at(x.mask_frame), at(x.chain)};
  }
  /// [r,1,..] and [1,n,..] of a panel.
  static at::Tensor row(const at::Tensor& x, const PairRows& p) {
    return x[p.sample].narrow(0, p.begin, p.count).unsqueeze(1);
  }
  static at::Tensor column(const at::Tensor& x, const PairRows& p) { return x[p.sample].unsqueeze(0); }

  at::Tensor same_chain(const PairRows& p) const { return row(rows.chain, p) == column(columns.chain, p); }

  /// The bin of a distance: how many edges it is beyond. Behind the table, where the row is zero, for other chains.
  at::Tensor bin(const PairRows& p) const {
    const at::Tensor distance = (row(rows.cb, p) - column(columns.cb, p)).square().sum(-1).sqrt();
    const at::Tensor bin = at::bucketize(distance, edges, /*out_int32=*/false, /*right=*/false);
    return at::where(same_chain(p), bin, at::full({}, edges.size(0) + 1, bin.options())).flatten();
  }

  at::Tensor numbers(const PairRows& p) const {
    const at::Tensor offset = row(rows.ca, p) - column(columns.origin, p);
    const at::Tensor local = (column(columns.rotation, p) * offset.unsqueeze(-1)).sum(-2);
    const auto both = [&](const at::Tensor& i, const at::Tensor& j) {
      return (row(i, p) * column(j, p)).unsqueeze(-1);
    };
    const at::Tensor all =
        at::cat({both(rows.mask_cb, columns.mask_cb), local.sign(), both(rows.mask_frame, columns.mask_frame)},
                /*dim=*/-1);
    return (all * same_chain(p).unsqueeze(-1)).flatten(0, 1);
  }
};

}  // namespace

at::Tensor embed_template(const TemplateOperands& operands, std::int64_t t, const at::Tensor& a_proj,
                          const TemplateBins& bins, at::ScalarType dtype) {
  const NoAutocast no_autocast(a_proj);
  const at::Tensor& cb = operands.rows.cb;
  Geometry geometry{Geometry::of_template(operands.rows, t), Geometry::of_template(operands.columns, t),
                    at::linspace(bins.min_dist, bins.max_dist, bins.num_bins - 1, cb.options().dtype(at::kFloat))
                        .to(cb.scalar_type())};
  const auto parts =
      a_proj.split_with_sizes({bins.num_bins, 5, geometry.rows.types.size(-1), geometry.columns.types.size(-1)}, 1);
  const auto types = [&](const at::Tensor& x, const at::Tensor& weight) {
    return at::linear(x.to(weight.scalar_type()), weight);
  };
  PairTerms terms{types(geometry.rows.types, parts[2]), types(geometry.columns.types, parts[3]), {}, {}};
  terms.look_ups.push_back({at::constant_pad_nd(parts[0].t(), {0, 0, 0, 1}),
                            [geometry](const PairRows& p) { return std::vector<at::Tensor>{geometry.bin(p)}; }});
  terms.maps.push_back({parts[1].t(), [geometry](const PairRows& p) { return geometry.numbers(p); }});
  return assemble_pairs(terms, cb.size(0), cb.size(2), operands.columns.cb.size(2), a_proj.options().dtype(dtype));
}

}  // namespace cpize::trunk
