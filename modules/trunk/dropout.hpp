// Dropout on a mesh: masks that are shared along rows or columns, from counter-based draws of the global element.
//
//   const trunk::Dropout dropout(random::Stream(seed, "pairformer_module", recycling_pass));
//   z = z.with(z.local() + layer.rows(update, 0.25, "tri_mul_out").local());     // layer = dropout.child("layers.3")
//
// Published rule: rows for tri_mul_out, tri_mul_in, tri_att_start and the MSA update of pair-weighted averaging
// ([B,S,1,1]); columns for tri_att_end. The factors have the bits of serial::Dropout's fed by
// random::uniform_source(root), whatever the mesh and the device: every rank draws its own rows (or columns) alone, and
// ranks that hold other columns of the same rows draw the same.
//
// Communication: none. Saved for backward: the factor (B N elements at most). Peak above x: the result. dtype of the
// result: promote_types(dtype of x, fp32), as serial's. Source: AlphaFold 2, Algorithm 6, and Boltz-2's
// get_dropout_mask.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>

#include "layout/sharded.hpp"
#include "random/stream.hpp"

namespace cpize::trunk {

class Dropout {
 public:
  /// None (evaluation): rows() and columns() return x itself.
  Dropout() = default;
  /// Drops with draws from streams below `root`; root's step says which pass this is.
  explicit Dropout(random::Stream root) : root_(std::move(root)) {}

  /// For the submodule of that name: adds it to the dotted path.
  Dropout child(const std::string& name) const;
  /// Whether anything is dropped at all.
  bool active() const { return root_.has_value(); }

  /// x [B,R,M,...] times a factor [B,R,1,...]: 0 with probability `rate`, else 1 / (1 - rate). Stream: the path, a dot
  /// and `name`. L: a layout of three or more dimensions without partial axes (Pair, Msa, ...).
  template <class L>
  Sharded<L> rows(const Sharded<L>& x, double rate, const std::string& name) const {
    const at::Tensor factor = row_factor(x, rate, name);
    return factor.defined() ? x.with(x.local() * factor) : x;
  }
  /// The same with a factor [B,1,M,...].
  template <class L>
  Sharded<L> columns(const Sharded<L>& x, double rate, const std::string& name) const {
    const at::Tensor factor = column_factor(x, rate, name);
    return factor.defined() ? x.with(x.local() * factor) : x;
  }

  /// The factor alone, for kernels that fold it into something else: this rank's part of [B,R,1,..] or [B,1,M,..], in
  /// promote_types(dtype of x, fp32); undefined where nothing is dropped (no stream, or rate 0).
  template <class L>
  at::Tensor row_factor(const Sharded<L>& x, double rate, const std::string& name) const {
    return factor(AnySharded(x), 1, rate, name);
  }
  template <class L>
  at::Tensor column_factor(const Sharded<L>& x, double rate, const std::string& name) const {
    return factor(AnySharded(x), 2, rate, name);
  }

 private:
  /// One draw for each index of dimension 0 and `dimension`.
  at::Tensor factor(const AnySharded& x, int dimension, double rate, const std::string& name) const;

  std::optional<random::Stream> root_;
};

}  // namespace cpize::trunk
