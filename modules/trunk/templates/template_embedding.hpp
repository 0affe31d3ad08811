// Template embedding: what one template says about the pairs of this rank, as a pair embedding of D channels.
//
//   y[i,j] = a_proj [one-hot bin of |cb_i - cb_j|, cb pair mask, sign of R_j^T (ca_i - t_j), frame pair mask]
//   same_chain
//            + a_proj [type_i, type_j]
//
// No one-hot or concatenated tensor of pairs: the bin is looked up, five numbers a pair are made a panel at a time, and
// residue types are projected token by token (trunk/pair_assembly.hpp).
#pragma once
#include "trunk/pair_assembly.hpp"
#include "trunk/templates/template_features.hpp"

namespace cpize::trunk {

struct TemplateBins {
  double min_dist = 3.25, max_dist = 50.75;  // Angstrom: the first and last edge, rounded to fp32 as published
  std::int64_t num_bins = 38;
};

/// a_proj [D, num_bins + 5 + 66] -> y [B,n0,n1,D] of template `t`, added up in promote_types(dtype, fp32) and given in
/// `dtype`. No communication. Saved: the operands. Differentiable in a_proj.
at::Tensor embed_template(const TemplateOperands& operands, std::int64_t t, const at::Tensor& a_proj,
                          const TemplateBins& bins, at::ScalarType dtype);

}  // namespace cpize::trunk
