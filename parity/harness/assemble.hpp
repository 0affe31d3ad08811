// assemble: the full tensor from all shards. Only tests and writers do this; it lives in parity/ for that reason.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "layout/sharded.hpp"

namespace cpize::parity {

/// Without communication: `locals[rank]` is what rank holds of a tensor of shape `global` in layout `spec`. A sharded
/// dimension is put together, partial axes are added up in rank order, of replicas coordinate 0 is taken.
/// ContractError where a shard has another shape than its box. Independent of `exchange`, so that it can judge it.
at::Tensor assemble(const std::vector<at::Tensor>& locals, const Spec& spec, const Shape& global,
                    const MeshShape& mesh);

/// A collective: every rank of the mesh calls it and gets the full tensor, detached. Memory: the whole tensor a rank.
at::Tensor assemble(const AnySharded& x);

}  // namespace cpize::parity
