#include "comm/pieces.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <utility>

namespace cpize::comm {
namespace {

/// Shorter runs than this are slow for a copy engine; a kernel puts them in their place afterwards.
constexpr std::int64_t kShortestRun = 512;  // bytes

bool goes_straight(const DeviceMesh& mesh, const at::TensorOptions& options) {
  return mesh.size() > 1 && options.device().is_cuda() && mesh.backend().supportsTensorAlloc(options.device().index());
}

std::int64_t run_bytes(const at::Tensor& view) {
  std::int64_t run = 1;
  for (std::int64_t d = view.dim() - 1; d >= 0 && view.stride(d) == run; --d) run *= view.size(d);
  return run * static_cast<std::int64_t>(view.element_size());
}

std::int64_t bytes_of(const std::vector<at::Tensor>& pieces) {
  std::int64_t bytes = 0;
  for (const auto& p : pieces)
    if (p.defined()) bytes += static_cast<std::int64_t>(p.nbytes());
  return bytes;
}

/// The pieces as they lie, if that is one behind the other: they need no packing.
at::Tensor already_packed(const std::vector<at::Tensor>& pieces) {
  at::Tensor first;
  std::int64_t count = 0;
  for (const auto& p : pieces) {
    if (!p.defined() || p.numel() == 0) continue;
    if (!p.is_contiguous()) return {};
    if (!first.defined()) first = p;
    if (p.data_ptr() != static_cast<char*>(first.data_ptr()) + count * static_cast<std::int64_t>(p.element_size()))
      return {};
    count += p.numel();
  }
  return first.defined() ? first.as_strided({count}, {1}) : first;
}

}  // namespace

at::Tensor send_buffer(const DeviceMesh& mesh, at::IntArrayRef sizes, const at::TensorOptions& options) {
  if (!goes_straight(mesh, options)) return at::empty(sizes, options);
  return mesh.backend().allocateTensor(c10::multiply_integers(sizes), options).view(sizes);
}

PiecesInFlight::PiecesInFlight(const DeviceMesh& mesh, std::vector<at::Tensor> send, std::vector<std::int64_t> counts,
                               const at::TensorOptions& options, const Place& place)
    : counts_(std::move(counts)), straight_(goes_straight(mesh, options)), elements_(counts_.size()) {
  mesh.traffic().count(bytes_of(send));
  if (straight_)
    send_straight(mesh, std::move(send), options, place);
  else
    send_packed(mesh, send, options);
}

void PiecesInFlight::send_straight(const DeviceMesh& mesh, std::vector<at::Tensor> send,
                                   const at::TensorOptions& options, const Place& place_of) {
  std::vector<at::Tensor> outputs(counts_.size());
  for (std::size_t q = 0; q < counts_.size(); ++q) {
    if (counts_[q] == 0) continue;
    outputs[q] = place_of(static_cast<int>(q));
    if (!outputs[q].defined() || (!outputs[q].is_contiguous() && run_bytes(outputs[q]) < kShortestRun))
      outputs[q] = elements_[q] = at::empty({counts_[q]}, options);
  }
  RECORD_USER_SCOPE("exchange.post");
  work_ = mesh.backend().alltoall(outputs, send);
}

void PiecesInFlight::send_packed(const DeviceMesh& mesh, const std::vector<at::Tensor>& send,
                                 const at::TensorOptions& options) {
  std::vector<std::int64_t> splits(counts_.size(), 0);
  std::int64_t to_send = 0, to_receive = 0;
  for (std::size_t q = 0; q < splits.size(); ++q) {
    if (send[q].defined()) to_send += splits[q] = send[q].numel();
    to_receive += counts_[q];
  }
  at::Tensor received;
  {
    RECORD_USER_SCOPE("exchange.pack");
    sent_ = already_packed(send);
    if (!sent_.defined()) {
      sent_ = at::empty({to_send}, options);
      std::int64_t offset = 0;
      for (std::size_t q = 0; q < splits.size(); ++q) {
        if (splits[q] == 0) continue;
        sent_.narrow(0, offset, splits[q]).view(send[q].sizes()).copy_(send[q]);
        offset += splits[q];
      }
    }
    received = at::empty({to_receive}, options);
  }
  std::int64_t offset = 0;
  for (std::size_t q = 0; q < counts_.size(); ++q) {
    if (counts_[q] > 0) elements_[q] = received.narrow(0, offset, counts_[q]);
    offset += counts_[q];
  }
  RECORD_USER_SCOPE("exchange.post");
  work_ = mesh.backend().alltoall_base(received, sent_, counts_, splits);
}

void PiecesInFlight::finish(const Take& take) {
  {
    RECORD_USER_SCOPE("exchange.wait");
    work_->wait();
  }
  work_.reset();
  sent_.reset();
  RECORD_USER_SCOPE("exchange.unpack");
  for (std::size_t q = 0; q < elements_.size(); ++q)
    if (elements_[q].defined()) take(static_cast<int>(q), elements_[q]);
  elements_.clear();
}

}  // namespace cpize::comm
