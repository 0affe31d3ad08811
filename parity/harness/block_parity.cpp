#include "parity/harness/block_parity.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>

#include "error/error.hpp"
#include "parity/harness/compare.hpp"
#include "parity/harness/cost.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/facts.hpp"
#include "parity/harness/ranks.hpp"
#include "parity/harness/sabotage.hpp"

namespace cpize::parity {

void measure_block_cell(const BlockCase& block, const Setting& setting,
                        const std::map<std::string, std::int64_t>& overrides, Cell& cell) {
  Facts facts(block, setting);
  std::vector<Difference> worst;
  std::string poison;
  for (const Run& run : runs_for(block, setting, overrides)) {
    const SerialRun serial = run_serial(block, run, setting);
    const PortRun port = run_port(block, serial, setting, serial.inputs, serial.output_gradients);
    const auto differences = compare(block, serial, port.results);
    facts.see(serial, port, differences);
    keep_worst(worst, differences, run.name);

    if (run.name == "even/random") {  // even: shards of equal shape exist that can be swapped
      cell.sabotage("drop_gradient", drop_gradient(block, serial, port));
      cell.sabotage("swap_shards", swap_shards(block, serial, port));
      cell.sabotage("ignore_mask", ignore_mask(block, serial));
    }
    if (run.name.ends_with("uneven/random") || run.name.ends_with("padding/prefix") || run.name == "uneven/none")
      if (poison.empty()) poison = poison_changes(block, serial);
  }
  for (auto& d : worst) cell.difference(std::move(d));
  facts.write(cell);
  cell.fact("poison_invariant", fact_unless(poison));
  measure_cost(block, setting, cell);
}

CaseMakers& registered_cases() {
  static CaseMakers cases;
  return cases;
}

void set_threads_for(const Setting& setting) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  at::set_num_threads(setting.device_type == at::kCPU ? 1 : std::clamp(cores / setting.mesh.size(), 1, 16));
}

Measurement measure_block(const BlockCase& block, const Request& request) {
  block.check();
  Measurement measurement("block");
  describe_environment(measurement);
  measurement.detail("case", block.name());
  for (const auto& name : request.cells) {
    const Setting setting = Setting::of(CellName::parse(name));
    set_threads_for(setting);
    measurement.environment("intra_op_threads", std::to_string(at::get_num_threads()));
    measure_block_cell(block, setting, request.sizes, measurement.cell(name));
    std::string runs;
    for (const Run& run : runs_for(block, setting, request.sizes))
      runs += (runs.empty() ? "" : "; ") + run.name + " " + str(run.sizes);
    measurement.detail("runs " + name, runs);
  }
  return measurement;
}

int block_main(int argc, char** argv, const std::vector<std::function<BlockCase()>>& cases) {
  return run_ranked_program(argc, argv, [&](const Request& request) {
    if (cases.size() == 1 && request.arguments.empty()) return measure_block(cases[0](), request);
    std::string known;
    for (const auto& make : cases) {
      const BlockCase block = make();
      if (request.arguments.size() == 1 && request.arguments[0] == block.name()) return measure_block(block, request);
      known += " " + block.name();
    }
    throw ConfigError("usage: " + request.program +
                      " <case> [--mesh 1x2x3] [--cell 1x2x2/threads/bf16/cpu] [--size N=7,C=8]; cases:" + known);
  });
}

}  // namespace cpize::parity
