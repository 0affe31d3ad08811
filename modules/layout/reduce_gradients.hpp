// reduce_gradients: finishes parameter gradients. Parameters are replicated, every rank's gradient is a partial sum,
// and one sum over the whole mesh completes them, whatever the layer. There is no averaging and no per-layer rule.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "mesh/device_mesh.hpp"

namespace cpize {

/// Replaces each parameter's .grad() by its sum over the mesh; a parameter without a gradient here contributes zero.
/// Summed in promote_types(dtype, float32), so that fp64 stays fp64 and bf16 is rounded once. One all-reduce a dtype.
/// The parameters must come in the same order on every rank (checked by the size of the all-reduce).
void reduce_gradients(const std::vector<at::Tensor>& parameters, const DeviceMesh& mesh);

}  // namespace cpize
