// PeerCopies: exchanges between the GPUs of one machine by their copy engines. Each rank reads what it receives
// straight out of its peers' memory (CUDA IPC over NVLink or PCIe), so no kernel runs: products and fused kernels keep
// all multiprocessors while data moves, and strided sources and targets need no packing.
//
//   rank q  on the stream of the caller:  write "exchange k is ready" into every peer's flags
//   rank r  on its stream for q:          wait for q's flag k; copy q's piece to its place; write "r has k" into q's
//           flags
//   wait()  on the stream of the caller:  wait for the copies, and that all peers have what this rank sent
//
// Flags are words of GPU memory that streams wait for and write; hosts never wait for GPUs. What lies where is said on
// a PeerBoard: a host waits (at most) for its peers' hosts to have posted the same exchange. On every stream all work
// is enqueued after what it depends on, here and there, so streams that share a hardware queue cannot block each other.
//
// Memory that peers read comes from a pool of its own, whose allocations stay and are opened once by each peer.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/process_store.hpp"

namespace cpize::comm::peers {

struct PeerCopiesOptions {
  std::chrono::milliseconds timeout;          // of a peer's host
  std::function<std::string()> failure;       // the first cause, while a host waits; empty while there is none
  std::function<std::string()> absence = {};  // likewise who has returned, while a host waits for what peers post
};

class PeerCopies {
 public:
  /// A collective over the store. Null, on every rank alike, where the ranks are not GPUs of one machine that can read
  /// each other's memory; `why` then says so.
  static std::shared_ptr<PeerCopies> join(const ProcessStore& met, int rank, int size, at::Device gpu,
                                          const PeerCopiesOptions& options, std::string& why);
  PeerCopies() = default;
  PeerCopies(const PeerCopies&) = delete;
  PeerCopies& operator=(const PeerCopies&) = delete;
  virtual ~PeerCopies() = default;

  /// Whether tensors there can be exchanged now: on this rank's GPU, unless it captures a CUDA graph.
  virtual bool takes(c10::DeviceIndex device) const = 0;

  /// Memory that peers can read. What else is sent is copied there first.
  virtual at::Tensor allocate(at::IntArrayRef sizes, const at::TensorOptions& options) = 0;

  /// outputs[q] receives what rank q has as inputs[r], r this rank (its own piece as well, if it has one): views of as
  /// many elements and one dtype, of at most six dimensions; undefined or empty where nothing moves. Sizes are compared
  /// always (PeerError). Outputs may have any strides without overlap; in order of their dimensions as the sender's.
  virtual c10::intrusive_ptr<c10d::Work> alltoall(std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs) = 0;

  /// The same for pieces that lie one behind the other, with the elements of each.
  virtual c10::intrusive_ptr<c10d::Work> alltoall_base(const at::Tensor& output, const at::Tensor& input,
                                                       at::IntArrayRef output_splits, at::IntArrayRef input_splits) = 0;

  /// Waits until this GPU has done all copies, and the exchanges that were waited for: nobody reads its memory for
  /// them. PeerError where another rank fails, or after the timeout.
  virtual void drain() = 0;
};

}  // namespace cpize::comm::peers
