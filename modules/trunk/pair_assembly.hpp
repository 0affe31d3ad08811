// Pair assembly: a pair tensor as the sum of its terms, added up in one tensor by panels of rows.
//
//   z[i,j] = rows[i] + columns[j] + sum over look-ups of table[index[i,j]] + sum over maps of features[i,j] weight
//
// What the model knows of a pair is mostly integers and a few numbers: positions, bonds, contacts, distances in a
// template. Their one-hot and cosine features are made for a panel, used and made again in backward: neither they nor
// any single term ever exist for a whole shard. No communication. Peak: z, and for a panel (a 16th of the rows of a
// sample, a few more on a GPU) the widest features and one sum in promote_types(dtype, fp32). The backward is
// hand-written and has none of its own (NotImplemented).
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace cpize::trunk {

/// Rows [begin, begin + count) of a sample of this rank's shard.
struct PairRows {
  std::int64_t sample = 0, begin = 0, count = 0;

  /// x [B, n0, n1, ...] -> [count n1, ...]
  at::Tensor of(const at::Tensor& x) const;
};

/// Rows of a table, `indices` a pair, each [count n1] int64.
struct PairLookUp {
  at::Tensor table;  // [rows, C], differentiable
  std::function<std::vector<at::Tensor>(const PairRows&)> index;
  std::int64_t indices = 1;
};

/// A linear map of features that are made for a panel of pairs: [count n1, K], any dtype.
struct PairMap {
  at::Tensor weight;  // [K, C], differentiable
  std::function<at::Tensor(const PairRows&)> features;

  /// Where the features are differentiable in a pair tensor [B, n0, n1]: that tensor, and its gradient [count n1] from
  /// that of the features.
  at::Tensor source = {};
  std::function<at::Tensor(const PairRows&, const at::Tensor& gradient)> source_gradient = {};
};

struct PairTerms {
  at::Tensor rows, columns;  // [B, n0, C], [B, n1, C], differentiable; both or neither
  std::vector<PairLookUp> look_ups;
  std::vector<PairMap> maps;
};

/// -> z [B, n0, n1, C], of the dtype and device of `options`. `look_ups` and `maps` capture no tensor that requires a
/// gradient. On a GPU (fast_pairs.hpp) rows, columns, a first look-up of four indices and a first map of one feature
/// take one kernel.
at::Tensor assemble_pairs(const PairTerms& terms, std::int64_t samples, std::int64_t n0, std::int64_t n1,
                          const at::TensorOptions& options);

}  // namespace cpize::trunk
