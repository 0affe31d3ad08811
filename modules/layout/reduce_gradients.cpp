#include "layout/reduce_gradients.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <map>

#include "comm/call_site.hpp"

namespace cpize {

void reduce_gradients(const std::vector<at::Tensor>& parameters, const DeviceMesh& mesh) {
  at::NoGradGuard no_grad;
  std::map<at::ScalarType, std::vector<at::Tensor>> by_dtype;  // sorted: the same order of collectives on every rank
  for (const auto& p : parameters) by_dtype[at::promote_types(p.scalar_type(), at::kFloat)].push_back(p);

  for (auto& [dtype, group] : by_dtype) {
    std::int64_t total = 0;
    for (const auto& p : group) total += p.numel();
    at::Tensor flat = at::zeros({total}, group[0].options().dtype(dtype).requires_grad(false));
    std::int64_t offset = 0;
    for (const auto& p : group) {
      if (p.grad().defined()) flat.narrow(0, offset, p.numel()).view(p.sizes()).copy_(p.grad());
      offset += p.numel();
    }
    if (mesh.size() > 1) {
      RECORD_USER_SCOPE("reduce_gradients.all_reduce");
      comm::CallSite site("reduce_gradients");
      std::vector<at::Tensor> tensors{flat};
      mesh.backend().allreduce(tensors)->wait();
      mesh.traffic().count(2 * static_cast<std::int64_t>(flat.nbytes()) * (mesh.size() - 1) / mesh.size());
    }
    offset = 0;
    for (auto& p : group) {
      at::Tensor sum = flat.narrow(0, offset, p.numel()).view(p.sizes());
      if (p.grad().defined())
        p.grad().copy_(sum);
      else
        p.mutable_grad() = sum.to(p.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
      offset += p.numel();
    }
  }
}

}  // namespace cpize
