// cpize_bench_scaling: the trunk, or one pairformer layer, on one mesh at several sizes. bench/scale.sh calls it.
//
//   cpize_bench_scaling --cell 1x2x2/threads/fp64/cpu --work trunk/step/64,pairformer_layer/forward/64 --size C=32,D=8
//   torchrun --no-python --nproc-per-node 4 cpize_bench_scaling --cell 1x2x2/nccl/bf16/cuda --work trunk/step/4096
//
// --work: what is measured, in that order. --runs N: timed runs (3). --exposed: exposed communication of steps on
// several GPUs. --probe: one run each, does it fit? --budget-mib M: with --probe, ends after the first that holds more.
// --size: scaling_model.hpp. --out FILE: results in Google Benchmark's form, complete after each of them, so that they
// are there when a later one does not fit. Exit codes: 0 all measured, 1 failed ("out of memory: ..." on stderr where
// that is why), 2 bad usage.
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "bench/scaling/scaling_measure.hpp"
#include "comm/agree.hpp"
#include "error/error.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::bench {
namespace {

struct Arguments {
  std::string cell = "1x1x1/threads/fp64/cpu", out;
  std::vector<ScalingTask> work;
  ScalingOptions options;
  double budget_mib = 0;  // 0: none
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

double number(const std::string& flag, const std::string& text, double least) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
  }
  if (end != text.size() || !(value >= least)) throw ConfigError(flag + " takes a number, not '" + text + "'");
  return value;
}

Arguments read(int argc, char** argv) {
  Arguments a;
  parity::Sizes given;
  const std::map<std::string, std::function<void(const std::string&)>> flags{
      {"--cell", [&](const auto& v) { a.cell = v; }},
      {"--out", [&](const auto& v) { a.out = v; }},
      {"--runs", [&](const auto& v) { a.options.runs = static_cast<int>(number("--runs", v, 1)); }},
      {"--budget-mib", [&](const auto& v) { a.budget_mib = number("--budget-mib", v, 0); }},
      {"--work",
       [&](const auto& v) {
         for (const auto& one : split(v)) a.work.push_back(ScalingTask::parse(one));
       }},
      {"--size", [&](const auto& v) {
         for (const auto& one : split(v)) {
           const auto at = one.find('=');
           if (at == std::string::npos) throw ConfigError("--size takes NAME=NUMBER, not '" + one + "'");
           given.set(one.substr(0, at), static_cast<std::int64_t>(number("--size", one.substr(at + 1), 1)));
         }
       }}};
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--probe") {
      a.options.probe = true;
    } else if (flag == "--exposed") {
      a.options.exposed = true;
    } else if (const auto known = flags.find(flag); known == flags.end()) {
      throw ConfigError("'" + flag +
                        "' is none of --cell, --work, --runs, --exposed, --probe, --budget-mib, --size, --out");
    } else {
      if (++i == argc) throw ConfigError(flag + " needs a value");
      known->second(argv[i]);
    }
  }
  if (a.work.empty()) throw ConfigError("--work is needed, for example --work trunk/step/2048");
  a.options.sizes = scaling_sizes(1, given);
  return a;
}

/// On every rank; rank 0 writes.
void measure(const Arguments& a, const parity::Setting& setting, const MeshPtr& mesh) {
  std::vector<std::pair<ScalingTask, ScalingCost>> results;
  for (const auto& task : a.work) {
    results.emplace_back(task, measure_scaling(task, a.options, setting, mesh));
    const ScalingCost& cost = results.back().second;
    std::string error;
    if (mesh->rank() == 0) {
      std::printf("%-44s %10.3f ms  peak %10.2f MiB  sent %10.2f MiB of %10.2f\n", task.name(setting).c_str(),
                  1e3 * cost.seconds.front(), static_cast<double>(cost.peak_bytes) / 1048576,
                  static_cast<double>(cost.sent_bytes) / 1048576, cost.sent_bytes_formula / 1048576);
      std::fflush(stdout);
      if (!a.out.empty()) {
        std::ofstream file(a.out);
        file << scaling_json(results, a.options, setting) << std::flush;
        if (!file) error = "cannot write " + a.out;
      }
    }
    comm::agree_no_error(*mesh, error);
    if (a.options.probe && a.budget_mib > 0 && static_cast<double>(cost.peak_bytes) > a.budget_mib * 1048576) return;
  }
}

int run(int argc, char** argv) {
  const Arguments a = read(argc, argv);
  const auto cell = parity::CellName::parse(a.cell);
  return parity::run_in_world_of(cell, argc, argv, [&] {
    const auto setting = parity::Setting::of(cell);
    parity::on_every_rank(setting, [&](const MeshPtr& mesh) {
      measure(a, setting, mesh);
      return parity::RankReport{};
    });
    return 0;
  });
}

}  // namespace
}  // namespace cpize::bench

int main(int argc, char** argv) {
  try {
    return cpize::bench::run(argc, argv);
  } catch (const cpize::Error& e) {
    std::cerr << e.what() << std::endl;
    return e.exit_code();
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
}
