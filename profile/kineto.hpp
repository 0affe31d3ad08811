// under_kineto: runs something while Kineto, libtorch's profiler, records.
#pragma once
#include <torch/csrc/autograd/profiler_kineto.h>

#include <functional>
#include <memory>

namespace cpize::profile {

/// What `body` did on the host, in this thread and in those that inherit its state (ranks that it starts, the autograd
/// engine's); with `gpu` also what GPUs did. At the end of `body` nothing of interest may still run.
std::unique_ptr<torch::autograd::profiler::ProfilerResult> under_kineto(bool gpu, const std::function<void()>& body);

}  // namespace cpize::profile
