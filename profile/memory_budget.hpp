// The memory budget of every scope of the pair slice: rule 11 of the project (single O(N/P), pair O(N^2/Q), forward and
// backward) with the figures that the design's cost table and the headers of the ports state.
//
// Units: b = B N N C / Q elements, one shard of z; t = B ceil(N / Q) elements, one channel of this rank's tokens. On
// top of its budget a scope may hold the gradients of its own parameters twice (the sum and what autograd takes): they
// do not depend on N.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "mesh/mesh_shape.hpp"
#include "profile/scoped_slice.hpp"

namespace cpize::profile {

struct ScopeBudget {
  std::string scope;
  double forward = 0, saved = 0, step = 0;  // bytes; saved without the output
  std::string source;
};

double pair_shard_bytes(const SliceSize& size, const MeshShape& mesh);
double token_channel_bytes(const SliceSize& size, const MeshShape& mesh);

/// One entry a scope of slice_scopes(). `parameters(scope)` gives the bytes of a scope's parameters.
std::vector<ScopeBudget> slice_budgets(const SliceSize& size, const MeshShape& mesh,
                                       const std::function<std::int64_t(const std::string&)>& parameters);

/// The whole step: what the budgets add up to.
ScopeBudget step_budget(const SliceSize& size, const MeshShape& mesh, std::int64_t parameter_bytes);

}  // namespace cpize::profile
