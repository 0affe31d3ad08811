// Fast pairs: the pair assembly of one panel on a GPU (cuda/pair_assembly_kernels.hpp), for bf16 and fp32.
#pragma once
#include <ATen/core/Tensor.h>

namespace cpize::trunk {

/// Whether the functions below take pairs of this dtype, device and width, with a table of `classes` rows.
bool fast_pairs(const at::Tensor& pairs, std::int64_t classes);

/// rows [n, C], columns [m, C], table [classes, C] and bond [C] fp32, four indices [n m], bonds [n m] -> z [n, m, C].
void fast_assemble(const at::Tensor& rows, const at::Tensor& columns, const at::Tensor& table, const at::Tensor& bond,
                   at::TensorList index, const at::Tensor& bonds, const at::Tensor& z);

/// g [n, m, C] -> adds its sums by row of the table to table_total [classes, C] and its products with the bonds to
/// bond_total [C]; both fp32.
void fast_pair_sums(const at::Tensor& g, at::TensorList index, const at::Tensor& bonds, const at::Tensor& table_total,
                    const at::Tensor& bond_total);

}  // namespace cpize::trunk
