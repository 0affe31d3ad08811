#include "parity/liveness/training_steps.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "comm/agree.hpp"
#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "trunk/tri_mul_out.hpp"

namespace cpize::parity {
namespace {

constexpr std::int64_t tokens = 7, channels = 4;

at::Tensor numbers(at::IntArrayRef sizes, int seed, at::Device device) {
  std::int64_t n = 1;
  for (const auto s : sizes) n *= s;
  const at::Tensor base = (at::arange(n, at::kLong) * 7919 + 104729 * (seed + 1)) % 1009;
  return (base.to(at::kDouble) / 504.5 - 1).view(sizes).to(device);
}

}  // namespace

StepsDone training_steps(const MeshPtr& mesh, FaultyBackend& faulty, const FaultPlan& plan, int steps) {
  const at::Device device = mesh->control_device();
  trunk::TriMulOut port(channels);
  port->to(at::kDouble);
  port->to(device);
  int seed = 0;
  {
    at::NoGradGuard no_grad;
    for (auto& p : port->parameters()) p.copy_(numbers(p.sizes(), seed++, device) / 2);
  }
  const std::int64_t batch = mesh->shape().extent(Axis::dp);
  StepsDone done;
  for (int step = 0; step < steps; ++step) {
    faulty.next_step();
    if (faulty.happens_now(FaultKind::returns)) return done;
    comm::agree_after(*mesh, [&] {
      if (faulty.happens_now(FaultKind::data_error)) throw InputError("msa.a3m", "planted: not readable");
    });
    if (comm::agree_any(*mesh, faulty.happens_now(FaultKind::skip))) {
      ++done.skipped;
      continue;
    }
    port->zero_grad();
    const auto z = shard<Pair>(numbers({batch, tokens, tokens, channels}, 100 + step, device), mesh);
    const auto mask = shard<Pair>(at::ones({batch, tokens, tokens}, z.local().options()), mesh);
    z.local().requires_grad_(true);
    const auto y = port(z, mask);
    at::Tensor loss = (y.local() * y.local()).sum();
    double value = loss.item<double>();
    if (faulty.happens_now(FaultKind::non_finite))
      value = plan.infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    comm::agree_finite(*mesh, "the loss of step " + std::to_string(step), value);
    loss.backward();
    reduce_gradients(port->parameters(), *mesh);
    done.gradient = port->parameters().front().grad().sum().item<double>();
    ++done.steps;
  }
  return done;
}

}  // namespace cpize::parity
