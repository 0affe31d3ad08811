// PiecesInFlight: an exchange of strided pieces of tensors, one from each rank to each other, on its way.
//
// Over backends that read each other's memory (supportsTensorAlloc) pieces go straight from where they lie to where
// they belong, by copy engines; what is sent should lie in memory of send_buffer(), else it is copied there first.
// Everywhere else: packed, one alltoall_base. The same bytes arrive either way. Every rank of the mesh calls it. Counts
// what is sent as the mesh's traffic.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <vector>

#include "mesh/device_mesh.hpp"

namespace cpize::comm {

/// Memory to send from: in peers' reach, where the backend has such.
at::Tensor send_buffer(const DeviceMesh& mesh, at::IntArrayRef sizes, const at::TensorOptions& options);

class PiecesInFlight {
 public:
  /// Where a rank's piece may go straight: a view with the dimensions, in order, of what that rank sends; undefined:
  /// nowhere, it is to be handed over.
  using Place = std::function<at::Tensor(int rank)>;
  /// Takes a piece that did not go straight: its elements, one-dimensional, in the order of what that rank sends.
  using Take = std::function<void(int rank, const at::Tensor& elements)>;

  PiecesInFlight() = default;
  /// `send`: by receiver; undefined for nothing, as for this rank itself (an engine copies within a GPU more slowly
  /// than a kernel). `counts`: elements from each rank. `place` is asked here, and only where pieces go straight.
  PiecesInFlight(const DeviceMesh& mesh, std::vector<at::Tensor> send, std::vector<std::int64_t> counts,
                 const at::TensorOptions& options, const Place& place);

  bool straight() const { return straight_; }
  /// Waits; `take` is called in the order of ranks. Once.
  void finish(const Take& take);

 private:
  void send_straight(const DeviceMesh& mesh, std::vector<at::Tensor> send, const at::TensorOptions& options,
                     const Place& place);
  void send_packed(const DeviceMesh& mesh, const std::vector<at::Tensor>& send, const at::TensorOptions& options);

  std::vector<std::int64_t> counts_;
  bool straight_ = false;
  at::Tensor sent_;                   // packed
  std::vector<at::Tensor> elements_;  // by rank, of what is handed over
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace cpize::comm
