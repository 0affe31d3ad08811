// The local part of pair initialisation: outer sum, relative position look-ups and bonds, added up in one tensor.
#pragma once
#include "trunk/relative_position.hpp"

namespace cpize::trunk {

/// rows [B,n0,C] and columns [B,n1,C] (projected tokens), rel_pos_weight [C, columns], bond_weight [C,1], ids of this
/// rank's rows and columns, bonds [B,n0,n1,1] -> z [B,n0,n1,C]. No communication. Differentiable in the first four.
at::Tensor assemble_pairs(const at::Tensor& rows, const at::Tensor& columns, const at::Tensor& rel_pos_weight,
                          const at::Tensor& bond_weight, const RelativePositionIds& ids, const at::Tensor& bonds,
                          const RelativePositionOptions& options);

}  // namespace cpize::trunk
