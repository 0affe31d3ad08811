#include "layout/max_over.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "comm/call_site.hpp"

namespace cpize::detail {

at::Tensor max_over(const at::Tensor& local, Axis axis, const DeviceMesh& mesh) {
  at::NoGradGuard no_grad;
  at::Tensor result = local.detach().contiguous().clone();
  const int line = mesh.shape().extent(axis);
  if (line == 1) return result;

  std::vector<std::int64_t> splits(mesh.size(), 0);
  Coordinates peer = mesh.coordinates();
  for (int i = 0; i < line; ++i) {
    peer.at[static_cast<std::size_t>(axis)] = i;
    if (const int rank = mesh.shape().rank(peer); rank != mesh.rank()) splits[rank] = local.numel();
  }
  at::Tensor send = result.view({-1}).repeat({line - 1});
  at::Tensor received = at::empty_like(send);
  comm::CallSite site("max_over " + std::string(name_of(axis)));
  auto receive_splits = splits;
  {
    RECORD_USER_SCOPE("exchange.post");  // profilers count it as any other exchange
    mesh.backend().alltoall_base(received, send, receive_splits, splits)->wait();
  }
  mesh.traffic().count(static_cast<std::int64_t>(send.nbytes()));
  for (int i = 0; i < line - 1; ++i) {
    at::Tensor other = received.narrow(0, i * local.numel(), local.numel()).view(result.sizes());
    at::maximum_out(result, result, other);
  }
  return result;
}

}  // namespace cpize::detail
