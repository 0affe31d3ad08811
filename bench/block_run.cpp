#include "bench/block_run.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "parity/harness/block_parity.hpp"
#include "profile/case_step.hpp"
#include "profile/operation_tally.hpp"

namespace cpize::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Once, forward alone or the whole step; whatever it returns is dropped.
template <class Run>
void execute(Run& run, bool step) {
  if (step) return run.step();
  const at::NoGradGuard no_grad;
  run.forward();
}

struct Counted {
  std::int64_t peak_bytes;
  double flops;
};

template <class Run>
Counted count(Run& run, bool step, at::ScalarType dtype) {
  const profile::ScopeTracker tracker;
  const profile::OperationTally tally(tracker, nullptr, dtype);
  comm::MemoryMeter meter;
  const comm::MemoryMeter::Scope attached(meter);
  meter.reset();
  execute(run, step);
  const Counted counted{meter.peak_bytes(), tally.total_flops()};
  run.clear_gradients();
  return counted;
}

template <class Run>
double timed(Run& run, bool step) {
  const auto start = Clock::now();
  execute(run, step);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  run.clear_gradients();
  return seconds;
}

parity::Setting setting_of(const BlockRun& run) {
  parity::Setting setting(run.mesh.value_or(MeshShape(1, 1, 1)));
  setting.dtype = run.dtype;
  return setting;
}

}  // namespace

const std::vector<parity::BlockCase>& benchmarked_cases() {
  static const std::vector<parity::BlockCase> cases = [] {
    std::vector<parity::BlockCase> all;
    for (const auto& make : parity::registered_cases()) {
      parity::BlockCase block = make();
      if (block.cost_sizes().size() > 0) all.push_back(std::move(block));
    }
    std::ranges::sort(all, {}, &parity::BlockCase::name);
    return all;
  }();
  return cases;
}

const parity::BlockCase& case_named(const std::string& name) {
  std::string known;
  for (const auto& block : benchmarked_cases()) {
    if (block.name() == name) return block;
    known += " " + block.name();
  }
  throw ConfigError("no block is called '" + name + "'; there are:" + known);
}

std::string BlockRun::name() const {
  return block + (step ? "/step/" : "/forward/") + setting_of(*this).dtype_name() + "/N:" + std::to_string(sizes["N"]) +
         "/mesh:" + (mesh ? mesh->str() : "serial");
}

BlockCost run_block(const BlockRun& run, int repetitions) {
  const profile::CaseProblem problem = profile::make_case_problem(case_named(run.block), run.sizes, setting_of(run));
  BlockCost cost;
  cost.seconds.assign(repetitions, 0.0);
  if (!run.mesh) {
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    profile::SerialCaseRun serial(problem);
    const Counted counted = count(serial, run.step, run.dtype);
    cost.peak_bytes = counted.peak_bytes;
    cost.flops = counted.flops;
    for (auto& seconds : cost.seconds) seconds = timed(serial, run.step);
    at::set_num_threads(threads);
    return cost;
  }

  std::mutex mutex;
  comm::run_ranks(*run.mesh, [&](const MeshPtr& mesh) {
    profile::PortCaseRun port(problem, mesh);
    const std::int64_t sent_before = mesh->traffic().sent_bytes;
    const Counted counted = count(port, run.step, run.dtype);
    const std::int64_t sent = mesh->traffic().sent_bytes - sent_before;
    std::vector<double> mine;
    for (int i = 0; i < repetitions; ++i) {
      mesh->backend().barrier()->wait();
      mine.push_back(timed(port, run.step));
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
