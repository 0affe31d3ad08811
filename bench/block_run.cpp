#include "bench/block_run.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "profile/operation_tally.hpp"

namespace cpize::bench {
namespace {

using profile::PortSliceRun;
using profile::SerialSliceRun;
using profile::SliceProblem;
using Clock = std::chrono::steady_clock;

/// A block with its inputs: what is timed.
struct Runnable {
  std::function<at::Tensor()> forward;  // this rank's output
  at::Tensor output_gradient;
  std::vector<at::Tensor> leaves;
  std::function<void()> finish;  // reduces parameter gradients; empty for serial
  std::function<void()> clear;   // drops parameter gradients

  void run(bool step) const {
    if (!step) {
      const at::NoGradGuard no_grad;
      forward();
      return;
    }
    const at::Tensor y = forward();
    torch::autograd::backward({y}, {output_gradient});
    if (finish) finish();
  }
  void clear_gradients() const {
    clear();
    for (auto leaf : leaves) leaf.mutable_grad() = at::Tensor();
  }
};

at::Tensor leaf(const at::Tensor& values) { return values.detach().clone().requires_grad_(true); }

/// s_inputs of the problem's size, the same for every rank.
at::Tensor token_values(const SliceProblem& problem) {
  const auto& s = problem.size;
  return at::linspace(-1, 1, s.batch * s.tokens * s.token_s, at::TensorOptions(at::kDouble))
      .view({s.batch, s.tokens, s.token_s})
      .to(s.dtype);
}

[[noreturn]] void unknown_block(const std::string& block) {
  std::string known;
  for (const auto& name : block_names()) known += " " + name;
  throw ConfigError("no block is called '" + block + "'; there are:" + known);
}

Runnable serial_block(const std::string& block, const SliceProblem& problem) {
  auto run = std::make_shared<SerialSliceRun>(problem);
  auto& m = *run->model();
  const auto mask = serial::pair_mask(run->features().token_pad_mask);
  const auto clean = serial::zero_padding(run->features());
  const at::Tensor z = leaf(problem.output_gradient), s = leaf(token_values(problem));
  Runnable r{{}, problem.output_gradient, {z}, {}, [run] { run->clear_gradients(); }};
  if (block == "slice") {
    r.leaves.clear();
    r.forward = [run] { return run->forward(); };
  } else if (block == "pair_init") {
    r.leaves = {s};
    r.forward = [run, &m, clean, s] { return m.pair_init(s, clean.position, clean.token_bonds); };
  } else if (block == "tri_mul_out") {
    r.forward = [run, &m, z, mask] { return m.tri_mul_out(z, mask); };
  } else if (block == "tri_mul_in") {
    r.forward = [run, &m, z, mask] { return m.tri_mul_in(z, mask); };
  } else if (block == "transition") {
    r.forward = [run, &m, z] { return m.transition_z(z); };
  } else {
    unknown_block(block);
  }
  return r;
}

Runnable port_block(const std::string& block, const SliceProblem& problem, const MeshPtr& mesh) {
  auto run = std::make_shared<PortSliceRun>(problem, mesh);
  auto& m = *run->model();
  const auto mask = trunk::pair_mask(run->features().token_pad_mask);
  const auto clean = trunk::zero_padding(run->features(), mask);
  const auto cut = shard<Pair>(problem.output_gradient, mesh);
  const auto z = cut.with(leaf(cut.local()));
  const auto s_values = shard<Single>(token_values(problem), mesh);
  const auto s = s_values.with(leaf(s_values.local()));
  std::vector<at::Tensor> parameters;
  Runnable r{{}, cut.local(), {z.local()}, {}, [run] { run->clear_gradients(); }};
  if (block == "slice") {
    r.leaves.clear();
    parameters = m.parameters();
    r.forward = [run] { return run->forward().local(); };
  } else if (block == "pair_init") {
    r.leaves = {s.local()};
    for (const auto& p : {m.pair_init->z_init_1->weight, m.pair_init->z_init_2->weight,
                          m.pair_init->rel_pos->linear_layer->weight, m.pair_init->token_bonds->weight})
      parameters.push_back(p);
    r.forward = [run, &m, clean, s] { return m.pair_init(s, clean.position, clean.token_bonds).local(); };
  } else if (block == "tri_mul_out") {
    parameters = m.tri_mul_out->parameters();
    r.forward = [run, &m, z, mask] { return m.tri_mul_out(z, mask).local(); };
  } else if (block == "tri_mul_in") {
    parameters = m.tri_mul_in->parameters();
    r.forward = [run, &m, z, mask] { return m.tri_mul_in(z, mask).local(); };
  } else if (block == "transition") {
    parameters = m.transition_z->parameters();
    r.forward = [run, &m, z] { return m.transition_z(z).local(); };
  } else {
    unknown_block(block);
  }
  r.finish = [parameters, mesh] { reduce_gradients(parameters, *mesh); };
  return r;
}

struct Counted {
  std::int64_t peak_bytes;
  double flops;
};

Counted count(const Runnable& block, bool step, at::ScalarType dtype) {
  const profile::ScopeTracker tracker;
  const profile::OperationTally tally(tracker, nullptr, dtype);
  comm::MemoryMeter meter;
  const comm::MemoryMeter::Scope attached(meter);
  meter.reset();
  block.run(step);
  const Counted counted{meter.peak_bytes(), tally.total_flops()};
  block.clear_gradients();
  return counted;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

const char* short_name(at::ScalarType dtype) {
  return dtype == at::kDouble ? "fp64" : dtype == at::kFloat ? "fp32" : c10::toString(dtype);
}

}  // namespace

const std::vector<std::string>& block_names() {
  static const std::vector<std::string> names{"pair_init", "tri_mul_out", "tri_mul_in", "transition", "slice"};
  return names;
}

std::string BlockRun::name() const {
  return block + (step ? "/step/" : "/forward/") + short_name(size.dtype) + "/N:" + std::to_string(size.tokens) +
         "/mesh:" + (mesh ? mesh->str() : "serial");
}

BlockCost run_block(const BlockRun& run, int repetitions) {
  const SliceProblem problem = profile::make_slice_problem(run.size);
  BlockCost cost;
  cost.seconds.assign(repetitions, 0.0);
  if (!run.mesh) {
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    const Runnable block = serial_block(run.block, problem);
    block.clear_gradients();
    const Counted counted = count(block, run.step, run.size.dtype);
    cost.peak_bytes = counted.peak_bytes;
    cost.flops = counted.flops;
    for (auto& seconds : cost.seconds) {
      const auto start = Clock::now();
      block.run(run.step);
      seconds = seconds_since(start);
      block.clear_gradients();
    }
    at::set_num_threads(threads);
    return cost;
  }

  std::mutex mutex;
  comm::run_ranks(*run.mesh, [&](const MeshPtr& mesh) {
    const Runnable block = port_block(run.block, problem, mesh);
    const std::int64_t sent_before = mesh->traffic().sent_bytes;
    const Counted counted = count(block, run.step, run.size.dtype);
    const std::int64_t sent = mesh->traffic().sent_bytes - sent_before;
    std::vector<double> mine;
    for (int i = 0; i < repetitions; ++i) {
      mesh->backend().barrier()->wait();
      const auto start = Clock::now();
      block.run(run.step);
      mine.push_back(seconds_since(start));
      block.clear_gradients();
    }
    const std::lock_guard lock(mutex);
    cost.peak_bytes = std::max(cost.peak_bytes, counted.peak_bytes);
    cost.sent_bytes = std::max(cost.sent_bytes, sent);
    cost.flops += counted.flops;
    for (int i = 0; i < repetitions; ++i) cost.seconds[i] = std::max(cost.seconds[i], mine[i]);
  });
  return cost;
}

}  // namespace cpize::bench
