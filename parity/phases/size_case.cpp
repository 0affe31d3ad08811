#include "parity/phases/size_case.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/phases/largest_size.hpp"

namespace cpize::parity {
namespace {

using Clock = std::chrono::steady_clock;

/// One step at size n: bytes of the busiest rank, inputs and parameters included, and the slowest rank's time of a
/// second step.
SizeProbe probe(const SizeCase& c, const MeshShape& shape, std::int64_t n, bool timed) {
  SizeProbe result{n, 0, 0};
  std::mutex mutex;
  comm::run_ranks(shape, [&](const MeshPtr& mesh) {
    comm::MemoryMeter meter;
    double seconds = 0;
    {
      const comm::MemoryMeter::Scope attached(meter);
      meter.reset();
      c.step()(mesh, n)({});
    }
    if (timed) {
      const profile::Step step = c.step()(mesh, n);
      mesh->backend().barrier()->wait();
      const auto start = Clock::now();
      step({});
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    const std::lock_guard lock(mutex);
    result.peak_bytes = std::max(result.peak_bytes, meter.peak_bytes());
    result.seconds = std::max(result.seconds, seconds);
  });
  return result;
}

struct Sizes {
  MaxTokens largest;
  std::vector<SizeProbe> over_n;
};

Sizes measure_on(const SizeCase& c, const MeshShape& mesh, std::int64_t budget, std::int64_t largest_timed) {
  Sizes sizes;
  sizes.largest = find_max_tokens(budget, [&](std::int64_t n) { return probe(c, mesh, n, false); });
  for (const std::int64_t quarter : {1, 2, 3, 4})
    sizes.over_n.push_back(probe(c, mesh, std::max<std::int64_t>(1, largest_timed * quarter / 4), true));
  return sizes;
}

std::string table(const std::string& title, const Sizes& sizes, std::int64_t budget) {
  char text[200];
  std::snprintf(text, sizeof text, "\n## %s\n\nLargest N within %lld bytes a rank: %lld (%lld does not fit).\n\n",
                title.c_str(), static_cast<long long>(budget), static_cast<long long>(sizes.largest.fits),
                static_cast<long long>(sizes.largest.does_not_fit));
  std::string all = text;
  all += "| N | ms a step | peak bytes |\n|---|---|---|\n";
  for (const auto& at : sizes.over_n) {
    std::snprintf(text, sizeof text, "| %lld | %.2f | %lld |\n", static_cast<long long>(at.tokens), 1e3 * at.seconds,
                  static_cast<long long>(at.peak_bytes));
    all += text;
  }
  return all;
}

std::string doubt(const Sizes& sizes) {
  for (const auto& at : sizes.over_n)
    if (!(at.seconds > 0) || at.peak_bytes <= 0) return "nothing was measured at N = " + std::to_string(at.tokens);
  return "";
}

}  // namespace

SizeCase& SizeCase::step(Make make) {
  step_ = std::move(make);
  return *this;
}

SizeCase& SizeCase::budget(std::int64_t bytes) {
  budget_ = bytes;
  return *this;
}

SizeCase& SizeCase::timed_up_to(std::int64_t n) {
  largest_timed_ = n;
  return *this;
}

Measurement measure_size(const SizeCase& c, const Request& request) {
  if (!c.step()) throw ContractError("sizes of " + c.model() + ": step() is missing");
  const std::int64_t budget = request.sizes.contains("MiB") ? request.sizes.at("MiB") << 20 : c.budget();
  const std::int64_t timed = request.size_or("N", c.largest_timed());
  Measurement m("bench");
  describe_environment(m);
  std::string document = "# How large and how fast: " + c.model() + "\n";
  for (const auto& name : request.cells) {
    const auto cell_name = CellName::parse(name);
    cell_name.require_threads_fp64_cpu();
    const MeshShape mesh = MeshShape::parse(cell_name.mesh);
    const Sizes port = measure_on(c, mesh, budget, timed);
    const Sizes one = measure_on(c, MeshShape(mesh.extent(Axis::dp), 1, 1), budget, timed);
    Cell& cell = m.cell(name);
    const std::string reason = doubt(port);
    cell.fact("measured_nonempty", fact_unless(reason.empty() ? doubt(one) : reason));
    cell.counter("memory_budget_bytes", static_cast<double>(budget));
    cell.counter("max_n", static_cast<double>(port.largest.fits));
    cell.counter("max_n.one_rank", static_cast<double>(one.largest.fits));
    cell.counter("peak_bytes.max_n", static_cast<double>(port.largest.largest().peak_bytes),
                 static_cast<double>(budget));
    cell.counter("steps_per_s", 1 / port.over_n.back().seconds);
    cell.counter("steps_per_s.one_rank", 1 / one.over_n.back().seconds);
    cell.counter("peak_bytes.step", static_cast<double>(port.over_n.back().peak_bytes));
    cell.counter("peak_bytes.step.one_rank", static_cast<double>(one.over_n.back().peak_bytes));
    document += table("Mesh " + cell_name.mesh, port, budget) + table("One rank", one, budget);
  }
  write_artifact(request, document);
  return m;
}

}  // namespace cpize::parity
