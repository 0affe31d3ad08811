// Replay: a forward on one GPU, captured once as a CUDA graph and replayed with new inputs of the same shapes. Small
// shapes are bound by the host's launches; a replay is one.
//
//   Replay layer([&](const std::vector<at::Tensor>& in) { return forward(in); }, {s, z});
//   const auto& out = layer({next_s, next_z});    // the graph's own memory: valid until the next call
//
// For inference (no gradients are recorded), with shapes, parameters and masks' memory as at capture: parameters may
// change their values, not their place. The function must not read anything back to the host, nor exchange data with
// other ranks. Memory: the capture keeps its working memory as long as the Replay lives. ConfigError in a build without
// CUDA.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace cpize::trunk {

class Replay {
 public:
  using Function = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

  /// Runs f three times with copies of the `inputs`: twice to warm up, once for the capture.
  Replay(const Function& f, const std::vector<at::Tensor>& inputs);
  ~Replay();
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;

  /// On the current stream. ContractError where shapes or dtypes differ from those at capture.
  const std::vector<at::Tensor>& operator()(const std::vector<at::Tensor>& inputs);

 private:
  /// ContractError unless `inputs` have the form of those at capture.
  static void check(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& captured);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cpize::trunk
