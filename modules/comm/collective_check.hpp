// check_collective: the sanitizer for backends that do not check themselves (NCCL): what every rank is about to do is
// compared before it is done.
//
// It costs one small all-reduce and a wait for it before every operation; so it is an option there
// (WorldOptions::check_collectives).
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "comm/posted_operation.hpp"

namespace cpize::comm {

/// A collective over `backend`, whose control tensors live on `device`. PeerError on every rank, naming two sides,
/// unless the operations of all ranks belong together.
void check_collective(c10d::Backend& backend, at::Device device, const PostedOperation& mine);

}  // namespace cpize::comm
