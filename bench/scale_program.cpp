// cpize_bench_scale, phase 7: largest N within a memory budget, time over N, and the block suite at one size; writes
// docs/cp_benchmark.md (the task's artifact). By hand: --mesh 1x2x2 --size MiB=256,N=128 (N: largest timed).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/blocks.hpp"
#include "bench/scale_report.hpp"
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/request.hpp"

namespace cpize::bench {
namespace {

using parity::Measurement;
using parity::Request;

/// Keeps the lines instead of printing them.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) {
      std::string name = run.run_name.function_name;
      BlockLine line{name, run.GetAdjustedRealTime(), {}};
      for (const auto& [counter, value] : run.counters) line.counters[counter] = value.value;
      if (run.error_occurred) errors_ += name + ": " + run.error_message + "; ";
      lines_.push_back(std::move(line));
    }
  }
  const std::vector<BlockLine>& lines() const { return lines_; }
  const std::string& errors() const { return errors_; }

 private:
  std::vector<BlockLine> lines_;
  std::string errors_;
};

/// The model whose step is scaled: the composition that holds all others.
constexpr const char* kModel = "recycling";

ScaleResult measure_scale(const std::optional<MeshShape>& mesh, std::int64_t budget, std::int64_t largest_timed) {
  ScaleResult result{mesh ? mesh->extent(Axis::dp) : 1, mesh, {}, {}};
  result.max_tokens = find_max_tokens(budget, [&](std::int64_t tokens) {
    return measure_step_memory(kModel, {{"N", tokens}}, mesh);
  });
  for (const std::int64_t quarter : {1, 2, 3, 4}) {
    const std::int64_t tokens = std::max<std::int64_t>(1, largest_timed * quarter / 4);
    const BlockCost cost = run_block({kModel, true, {{"N", tokens}}, at::kDouble, mesh}, 2);
    result.over_n.push_back({tokens, cost.peak_bytes, *std::min_element(cost.seconds.begin(), cost.seconds.end())});
  }
  return result;
}

std::string json_of(const std::vector<BlockLine>& lines) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& line : lines)
    all.push_back({{"name", line.name}, {"ms", line.milliseconds}, {"counters", line.counters}});
  return all.dump();
}

/// What speaks against the measurement: "" if nothing does.
std::string doubt(const ScaleResult& serial, const ScaleResult& port, const Collector& suite, std::size_t expected) {
  if (!suite.errors().empty()) return suite.errors();
  if (suite.lines().size() != expected)
    return std::to_string(suite.lines().size()) + " of " + std::to_string(expected) + " benchmarks ran";
  for (const auto& line : suite.lines())
    if (!(line.milliseconds > 0) || !(line.counters.at("peak_bytes") > 0)) return line.name + " measured nothing";
  for (const auto* result : {&serial, &port})
    for (const auto& at : result->over_n)
      if (!(at.seconds > 0)) return "no time at N = " + std::to_string(at.tokens);
  return "";
}

Measurement measure(const Request& request) {
  const std::int64_t budget = request.size_or("MiB", 64) * 1048576, largest = request.size_or("N", 128);
  Measurement m("bench");
  parity::describe_environment(m);
  std::vector<ScaleResult> results;
  SuiteOptions suite{{request.size_or("N", 128) / 2}, {std::nullopt}, {at::kDouble}, 2};
  std::vector<std::pair<std::string, MeshShape>> cells;
  for (const auto& name : request.cells) {
    const auto cell_name = parity::CellName::parse(name);
    cell_name.require_threads_fp64_cpu();
    cells.emplace_back(name, MeshShape::parse(cell_name.mesh));
    suite.meshes.emplace_back(cells.back().second);
  }
  results.push_back(measure_scale({}, budget, largest));
  for (const auto& [name, mesh] : cells) results.push_back(measure_scale(mesh, budget, largest));
  const std::size_t expected = register_blocks(suite);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);

  const ScaleResult& serial = results[0];
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const ScaleResult& port = results[i + 1];
    parity::Cell& cell = m.cell(cells[i].first);
    cell.fact("measured_nonempty", parity::fact_unless(doubt(serial, port, collector, expected)));
    cell.counter("memory_budget_bytes", static_cast<double>(budget));
    cell.counter("max_tokens", static_cast<double>(port.max_tokens.fits));
    cell.counter("max_tokens.serial", static_cast<double>(serial.max_tokens.fits));
    cell.counter("peak_bytes.max_tokens", static_cast<double>(port.max_tokens.largest().peak_bytes),
                 static_cast<double>(budget));
    const auto &at = port.over_n.back(), &at_serial = serial.over_n.back();
    cell.counter("tokens_per_s", static_cast<double>(at.tokens * port.batch) / at.seconds);
    cell.counter("tokens_per_s.serial", static_cast<double>(at_serial.tokens) / at_serial.seconds);
    cell.counter("peak_bytes.step", static_cast<double>(at.peak_bytes));
    cell.counter("peak_bytes.step.serial", static_cast<double>(at_serial.peak_bytes));
  }
  m.detail_json("blocks", json_of(collector.lines()));
  parity::write_artifact(request, scale_report(kModel, budget, results, collector.lines(),
                                               static_cast<int>(std::thread::hardware_concurrency())));
  return m;
}

}  // namespace
}  // namespace cpize::bench

int main(int argc, char** argv) { return cpize::parity::run_program(argc, argv, cpize::bench::measure); }
