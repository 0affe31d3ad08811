#include "bench/scaling/scaling_measure.hpp"

#include <ATen/record_function.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "comm/agree.hpp"
#include "error/error.hpp"
#include "parity/harness/peak_bytes.hpp"
#include "profile/device_times.hpp"
#include "profile/kineto.hpp"

namespace cpize::bench {
namespace {

using Clock = std::chrono::steady_clock;

void synchronise(c10::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

std::int64_t largest(const MeshPtr& mesh, std::int64_t mine) {
  const auto all = comm::gather_numbers(*mesh, mine);
  return *std::max_element(all.begin(), all.end());
}

double seconds_of(ScalingRun& run, bool step, const MeshPtr& mesh, c10::Device device) {
  comm::gather_numbers(*mesh, 0);  // the ranks start together
  synchronise(device);
  const auto start = Clock::now();
  run.run(step);
  synchronise(device);
  const std::chrono::nanoseconds mine = Clock::now() - start;
  run.clear_gradients();
  return static_cast<double>(largest(mesh, mine.count())) * 1e-9;
}

/// One run that counts, warmed up before unless it is a probe.
void count(ScalingRun& run, bool step, const MeshPtr& mesh, parity::PeakBytes& held, ScalingCost& cost) {
  const std::int64_t before = mesh->traffic().sent_bytes;
  run.run(step);
  const std::int64_t sent = mesh->traffic().sent_bytes - before, peak = held.peak();
  run.clear_gradients();
  cost.sent_bytes = largest(mesh, sent);
  cost.peak_bytes = largest(mesh, peak);
}

/// A step as Kineto sees it, after one that lets the profiler warm up; all else is warm.
profile::DeviceTimes recorded(ScalingRun& run, const MeshPtr& mesh, c10::Device device) {
  const auto step = [&] {
    run.step();
    run.clear_gradients();
    synchronise(device);
  };
  profile::NodeScopes nodes;
  const auto result = profile::under_kineto(true, [&] {
    step();
    comm::gather_numbers(*mesh, 0);
    synchronise(device);
    const profile::ScopeTracker tracker(profile::ScopeTracker::Reach::process);
    {
      RECORD_USER_SCOPE(profile::kStepRange);
      step();
    }
    nodes = tracker.nodes();
  });
  const auto file =
      std::filesystem::temp_directory_path() / ("cpize-scaling." + std::to_string(::getpid()) + ".trace.json");
  result->save(file.string());
  const profile::DeviceTimes times = profile::device_times(profile::read_chrome_trace(file.string()), nodes);
  std::filesystem::remove(file);
  return times;
}

/// Where the time of a step goes, by the rank that took longest.
void record(ScalingRun& run, const MeshPtr& mesh, c10::Device device, ScalingCost& cost) {
  const profile::DeviceTimes times = recorded(run, mesh, device);
  const auto nanoseconds = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
  const auto walls = comm::gather_numbers(*mesh, nanoseconds(times.wall));
  const auto slowest = std::max_element(walls.begin(), walls.end()) - walls.begin();
  const auto of_slowest = [&](double mine) {
    return static_cast<double>(comm::gather_numbers(*mesh, nanoseconds(mine))[slowest]) * 1e-9;
  };
  cost.exposed_seconds = of_slowest(times.exposed);
  cost.communication_seconds = of_slowest(times.communication);
  cost.idle_seconds = of_slowest(times.idle);
}

ScalingCost measure(const ScalingTask& task, const ScalingOptions& options, const parity::Setting& setting,
                    const MeshPtr& mesh) {
  const c10::Device device = setting.device();
  ScalingCost cost;
  parity::CostPoint point;
  point.sizes = options.sizes;
  point.sizes.set("N", task.tokens);
  point.mesh = setting.mesh;
  point.element_bytes = static_cast<double>(c10::elementSize(setting.dtype));

  std::optional<parity::PeakBytes> held(device);
  if (options.probe) held->reset();
  ScalingRun run(task.model, point.sizes, setting, mesh);
  cost.sent_bytes_formula = sent_bytes_formula(task.model, point, task.step, run.parameter_count());
  if (options.probe) {
    comm::gather_numbers(*mesh, 0);
    const auto start = Clock::now();
    count(run, task.step, mesh, *held, cost);
    synchronise(device);
    const std::chrono::nanoseconds mine = Clock::now() - start;
    cost.seconds = {static_cast<double>(largest(mesh, mine.count())) * 1e-9};
    return cost;
  }
  run.run(task.step);
  run.clear_gradients();
  synchronise(device);
  held->reset();
  count(run, task.step, mesh, *held, cost);
  held.reset();  // counting costs time where ranks are threads
  for (int i = 0; i < options.runs; ++i) cost.seconds.push_back(seconds_of(run, task.step, mesh, device));
  if (options.exposed && task.step && mesh->size() > 1 && !device.is_cpu()) record(run, mesh, device, cost);
  return cost;
}

}  // namespace

ScalingTask ScalingTask::parse(const std::string& text) {
  ScalingTask task;
  std::istringstream in(text);
  std::string kind, tokens;
  std::getline(in, task.model, '/') && std::getline(in, kind, '/') && std::getline(in, tokens);
  const auto [end, error] = std::from_chars(tokens.data(), tokens.data() + tokens.size(), task.tokens);
  if (std::ranges::count(scaling_models(), task.model) == 0 || (kind != "forward" && kind != "step") ||
      error != std::errc() || end != tokens.data() + tokens.size() || task.tokens < 1)
    throw ConfigError("'" + text + "' is not MODEL/forward|step/TOKENS with the models pairformer_layer and trunk");
  task.step = kind == "step";
  return task;
}

std::string ScalingTask::name(const parity::Setting& setting) const {
  return model + (step ? "/step/" : "/forward/") + setting.dtype_name() + "/N:" + std::to_string(tokens) +
         (setting.backend == "threads" ? "/threads:" : "/gpus:") + std::to_string(setting.mesh.size());
}

ScalingCost measure_scaling(const ScalingTask& task, const ScalingOptions& options, const parity::Setting& setting,
                            const MeshPtr& mesh) {
  try {
    const c10::Device device = setting.device();
    if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->emptyCache();
    return measure(task, options, setting, mesh);
  } catch (const c10::OutOfMemoryError& e) {
    const std::string why = e.what_without_backtrace();
    throw ResourceError("out of memory: " + task.name(setting) + ", rank " + std::to_string(mesh->rank()) + ": " +
                        why.substr(0, why.find('\n')));
  }
}

std::string scaling_json(const std::vector<std::pair<ScalingTask, ScalingCost>>& results, const ScalingOptions& options,
                         const parity::Setting& setting) {
  nlohmann::json sizes;
  for (const auto& [letter, value] : options.sizes)
    if (letter != "1" && letter != "B" && letter != "N") sizes[letter] = value;
  nlohmann::json file{{"context",
                       {{"executable", "cpize_bench_scaling"},
                        {"mesh", setting.mesh.str()},
                        {"backend", setting.backend},
                        {"dtype", setting.dtype_name()},
                        {"probe", options.probe},
                        {"sizes", sizes}}},
                      {"benchmarks", nlohmann::json::array()}};
  for (const auto& [task, cost] : results)
    for (const double seconds : cost.seconds) {
      nlohmann::json line{{"name", task.name(setting)},
                          {"run_type", "iteration"},
                          {"time_unit", "ms"},
                          {"real_time", 1e3 * seconds},
                          {"peak_bytes", cost.peak_bytes},
                          {"sent_bytes", cost.sent_bytes},
                          {"sent_bytes_formula", cost.sent_bytes_formula}};
      const auto add = [&](const char* counter, const std::optional<double>& value) {
        if (value) line[counter] = 1e3 * *value;
      };
      add("exposed_ms", cost.exposed_seconds);
      add("communication_ms", cost.communication_seconds);
      add("idle_ms", cost.idle_seconds);
      file["benchmarks"].push_back(line);
    }
  return file.dump(1) + "\n";
}

}  // namespace cpize::bench
