// run_ranks: starts a mesh whose ranks are threads of this process and runs one function on each.
//
//   comm::run_ranks(MeshShape(1, 2, 2), [&](const MeshPtr& mesh) {
//     auto z = shard<Pair>(full, mesh);      // each rank has its own shard and its own parameter leaves
//     ...
//   });
//
// The caller's at::ThreadLocalState (grad mode, autocast, ...) holds in every rank thread; each rank uses one intra-op
// thread. Throw to fail (gtest's ASSERT_* does not leave a rank thread): peers that wait for a failed rank get a
// PeerError.
#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <vector>

#include "mesh/device_mesh.hpp"

namespace cpize::comm {

struct ThreadsOptions {
  /// How long a rank waits in one collective for a peer that is still running.
  std::chrono::milliseconds timeout{120'000};
};

/// Runs `f` on every rank and returns each rank's exception (null where it returned).
std::vector<std::exception_ptr> run_ranks_collect(const MeshShape& shape, const std::function<void(const MeshPtr&)>& f,
                                                  const ThreadsOptions& options = {});

/// Runs `f` on every rank; rethrows the first cause: an exception that is no PeerError before one that is, then the
/// lowest rank.
void run_ranks(const MeshShape& shape, const std::function<void(const MeshPtr&)>& f,
               const ThreadsOptions& options = {});

}  // namespace cpize::comm
