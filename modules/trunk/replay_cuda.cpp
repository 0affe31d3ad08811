#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "error/error.hpp"
#include "trunk/replay.hpp"

namespace cpize::trunk {

struct Replay::State {
  at::Device device;
  at::cuda::CUDAGraph graph;
  std::vector<at::Tensor> inputs, outputs;
};

Replay::Replay(const Function& f, const std::vector<at::Tensor>& inputs) {
  if (inputs.empty() || !inputs.front().is_cuda()) throw ContractError("a replay takes inputs on a GPU");
  const at::NoGradGuard no_grad;
  state_ = std::unique_ptr<State>(new State{inputs.front().device(), {}, {}, {}});
  const c10::cuda::CUDAGuard device(state_->device);
  for (const at::Tensor& x : inputs) state_->inputs.push_back(x.detach().clone(at::MemoryFormat::Contiguous));
  c10::cuda::device_synchronize();
  // A capture needs a stream of its own, and libraries that have made their handles and workspaces on it.
  const c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, state_->device.index());
  const c10::cuda::CUDAStreamGuard stream(side);
  for (int warm = 0; warm < 2; ++warm) f(state_->inputs);
  c10::cuda::device_synchronize();
  state_->graph.capture_begin();
  state_->outputs = f(state_->inputs);
  state_->graph.capture_end();
  c10::cuda::device_synchronize();
}

Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

const std::vector<at::Tensor>& Replay::operator()(const std::vector<at::Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  const c10::cuda::CUDAGuard device(state_->device);
  check(inputs, state_->inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) state_->inputs[i].copy_(inputs[i], /*non_blocking=*/true);
  state_->graph.replay();
  return state_->outputs;
}

}  // namespace cpize::trunk
