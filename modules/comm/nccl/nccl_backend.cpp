#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL  // the wheel has it; its headers ask
#endif
#include "comm/nccl/nccl_backend.hpp"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <algorithm>
#include <cstdlib>

#include "comm/call_site.hpp"
#include "comm/collective_check.hpp"
#include "comm/peers/peer_copies.hpp"
#include "error/error.hpp"

namespace cpize::comm {
namespace nccl {
namespace {

constexpr std::chrono::milliseconds longest_silence{10'000};

/// Of a collective in which no rank has anything to send.
class NothingToDo : public c10d::Work {
 public:
  bool wait(std::chrono::milliseconds = kNoTimeout) override { return true; }
};

}  // namespace

NcclBackend::NcclBackend(const ProcessStore& met, const LaunchEnvironment& launch, at::Device gpu,
                         const ProcessBackendOptions& options)
    : ProcessBackend(launch.rank, launch.world),
      gpu_(gpu),
      timeout_(options.timeout),
      checks_(options.check_collectives),
      met_(met),
      liveness_(met, launch.rank, launch.world, std::min(longest_silence, options.timeout)) {
  auto group_options = c10d::ProcessGroupNCCL::Options::create();
  group_options->timeout = options.timeout;
  // A kernel that moves data should find its place before the thousands of blocks of a product that came earlier:
  // otherwise exchange and compute take turns instead of overlapping.
  group_options->is_high_priority_stream = true;
  group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(met_.store, launch.rank, launch.world, group_options);
  if (launch.world == 1 || options.peer_copies == PeerCopiesChoice::never) return;
  std::string why;
  peers_ = peers::PeerCopies::join(met_, launch.rank, launch.world, gpu,
                                   {options.timeout, [this] { return failure(); }}, why);
  if (!peers_ && options.peer_copies == PeerCopiesChoice::always)
    throw ConfigError("CPIZE_PEER_COPIES=1, but the GPUs cannot read each other's memory: " + why);
}

NcclBackend::~NcclBackend() = default;

void NcclBackend::require_here(const at::Tensor& tensor) const {
  if (tensor.device() != gpu_)
    throw ContractError("nccl backend: rank " + std::to_string(rank_) + " works on " + gpu_.str() +
                        " and got a tensor on " + tensor.device().str());
}

void NcclBackend::check(PostedOperation operation) {
  if (!checks_) return;
  operation.site = CallSite::current();
  check_collective(*group_, gpu_, operation);
}

c10::intrusive_ptr<c10d::Backend> NcclBackend::spare() {
  if (!checks_)
    throw ConfigError("nccl backend: without check_collectives a mistake would hang; set CPIZE_CHECK_COLLECTIVES=1");
  return c10::intrusive_ptr<NcclBackend>::reclaim_copy(this);
}

c10::intrusive_ptr<c10d::Work> NcclBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                      const c10d::AllreduceOptions& options) {
  if (tensors.size() != 1)
    throw ContractError("nccl backend: allreduce takes one tensor, got " + std::to_string(tensors.size()));
  require_here(tensors[0]);
  check({c10d::OpType::ALLREDUCE,
         static_cast<c10d::ReduceOp::RedOpType>(options.reduceOp),
         tensors[0],
         tensors[0],
         {},
         {},
         {}});
  if (tensors[0].numel() == 0) return c10::make_intrusive<NothingToDo>();  // on every rank: shapes are alike
  return group_->allreduce(tensors, options);
}

c10::intrusive_ptr<c10d::Work> NcclBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                          std::vector<std::int64_t>& output_splits,
                                                          std::vector<std::int64_t>& input_splits,
                                                          const c10d::AllToAllOptions& options) {
  require_here(output);
  require_here(input);
  const auto ranks = static_cast<std::size_t>(getSize());
  if (output_splits.size() != ranks || input_splits.size() != ranks)
    throw ContractError("nccl backend: alltoall_base wants one split a rank (" + std::to_string(ranks) + "), got " +
                        std::to_string(output_splits.size()) + " and " + std::to_string(input_splits.size()));
  check({c10d::OpType::ALLTOALL_BASE, c10d::ReduceOp::SUM, output, input, output_splits, input_splits, {}});
  if (!supportsTensorAlloc(gpu_.index()))
    return group_->alltoall_base(output, input, output_splits, input_splits, options);
  return peers_->alltoall_base(output, input, output_splits, input_splits);
}

c10::intrusive_ptr<c10d::Work> NcclBackend::alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                                     const c10d::AllToAllOptions&) {
  require_pieces(outputs, inputs);
  PostedOperation operation{c10d::OpType::ALLTOALL_BASE, c10d::ReduceOp::SUM, {}, {}, {}, {}, {}};
  const auto note = [&](const std::vector<at::Tensor>& pieces, at::Tensor& one, std::vector<std::int64_t>& splits) {
    for (const auto& t : pieces) {
      if (!one.defined()) one = t;
      splits.push_back(t.defined() ? t.numel() : 0);
    }
  };
  note(outputs, operation.output, operation.output_splits);
  note(inputs, operation.input, operation.input_splits);
  check(std::move(operation));
  return peers_->alltoall(outputs, inputs);
}

c10::intrusive_ptr<c10d::Work> NcclBackend::barrier(const c10d::BarrierOptions& options) {
  PostedOperation operation;
  operation.kind = c10d::OpType::BARRIER;
  check(std::move(operation));
  c10d::BarrierOptions here = options;
  here.device = gpu_;
  return group_->barrier(here);
}

void NcclBackend::leave() {
  c10::cuda::device_synchronize();  // errors of work under way come out here
  liveness_.leave(timeout_);
  peers_.reset();
  group_->shutdown();
}

}  // namespace nccl

std::string why_no_nccl() { return ""; }

c10::intrusive_ptr<ProcessBackend> join_nccl(const LaunchEnvironment& launch, const ProcessBackendOptions& options) {
  const int gpus = static_cast<int>(c10::cuda::device_count());
  if (gpus == 0)
    throw ConfigError(
        "the nccl backend needs a GPU, and this process sees none (driver, CUDA_VISIBLE_DEVICES); use --backend mpi");
  // A launcher gives each process its own GPU, or all processes all of them.
  const int index = gpus == 1 ? 0 : launch.local_rank / options.ranks_per_gpu;
  if (index >= gpus)
    throw ConfigError("local rank " + std::to_string(launch.local_rank) + " (" + launch.source + ") has no GPU: " +
                      std::to_string(gpus) + " are visible for " + std::to_string(options.ranks_per_gpu) +
                      " ranks each (CPIZE_RANKS_PER_GPU); launch with: " + launch.line);
  if (options.ranks_per_gpu > 1) setenv("NCCL_HOSTID", ("cpize-rank-" + std::to_string(launch.rank)).c_str(), 0);
  const at::Device gpu(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  c10::cuda::set_device(gpu.index());
  ProcessStore met;
  if (launch.world == 1 && launch.source == "none")
    met = lone_store();
  else
    met = join_store(launch, options.join_timeout);
  return c10::make_intrusive<nccl::NcclBackend>(met, launch, gpu, options);
}

}  // namespace cpize::comm
