// cpize_bench_gpu: the trunk's blocks and its layer on GPUs, one a rank.
//
//   cpize_bench_gpu --tokens 512,1024,2048 --benchmark_out=one.json                      one GPU
//   torchrun --no-python --nproc-per-node 2 cpize_bench_gpu --mesh 1x2 ...                two
//
// --blocks, --dtypes (bf16,fp32), --tokens: lists; --runs N repetitions; --plain adds the plain path (bf16), --graph
// forwards replayed as CUDA graphs;
// --chunks N cuts its channels otherwise; --trace FILE writes
// one run of the last benchmark as a Chrome trace (of every rank, FILE.<rank>). The other flags are Google Benchmark's.
// Names: block/forward|step/dtype/N:2048/gpus:1. Counters: peak_bytes, sent_bytes, flops, floor_ms. What does not fit
// into memory is reported as an error of that benchmark.
#include <benchmark/benchmark.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "bench/gpu/gpu_block.hpp"
#include "comm/agree.hpp"
#include "comm/world.hpp"
#include "error/error.hpp"

namespace cpize::bench {
namespace {

struct Suite {
  MeshShape mesh;
  std::vector<std::string> blocks = gpu_block_names(), dtypes{"bf16"}, tokens{"512", "1024", "2048", "4096"};
  int runs = 9;
  bool plain = false, graph = false;
  std::string trace;
  std::int64_t chunks = 0;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

/// Takes our flags out of the command line; what is left is Google Benchmark's.
Suite read_flags(std::vector<std::string>& arguments) {
  Suite suite;
  const std::map<std::string, std::function<void(const std::string&)>> flags{
      {"--mesh", [&](const auto& value) { suite.mesh = MeshShape::parse(value); }},
      {"--blocks", [&](const auto& value) { suite.blocks = split(value); }},
      {"--dtypes", [&](const auto& value) { suite.dtypes = split(value); }},
      {"--tokens", [&](const auto& value) { suite.tokens = split(value); }},
      {"--runs", [&](const auto& value) { suite.runs = std::stoi(value); }},
      {"--chunks", [&](const auto& value) { suite.chunks = std::stoll(value); }},
      {"--trace", [&](const auto& value) { suite.trace = value; }}};
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string flag = arguments[i];
    if (flag == "--plain") {
      suite.plain = true;
    } else if (flag == "--graph") {
      suite.graph = true;
    } else if (const auto known = flags.find(flag); known == flags.end()) {
      rest.push_back(flag);
    } else {
      if (++i == arguments.size()) throw ConfigError(flag + " needs a value");
      known->second(arguments[i]);
    }
  }
  for (const auto& dtype : suite.dtypes)
    if (dtype != "bf16" && dtype != "fp32") throw ConfigError("--dtypes takes bf16 and fp32, not '" + dtype + "'");
  arguments = rest;
  return suite;
}

/// Names without the library's own additions (iterations, repetitions, kind of time).
template <class Reporter>
class PlainNames : public Reporter {
 public:
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    auto plain = runs;
    for (auto& run : plain) run.run_name.iterations = run.run_name.repetitions = run.run_name.time_type = "";
    Reporter::ReportRuns(plain);
  }
};

class Silent : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

void trace(const GpuBlock& block, const std::string& file) {
  using namespace torch::profiler::impl;
  const std::set<ActivityType> activities{ActivityType::CPU, ActivityType::CUDA};
  const ProfilerConfig config(ProfilerState::KINETO);
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
  block.seconds(1);
  torch::autograd::profiler::disableProfiler()->save(file);
}

/// Whether a flag chooses the plain path of this block.
bool has_plain_path(const std::string& block) {
  return block.starts_with("tri_") || block == "transition" || block == "pairformer_layer";
}

int runs_at_once(std::int64_t tokens) { return tokens <= 512 ? 20 : tokens <= 1024 ? 8 : tokens <= 2048 ? 3 : 1; }

/// One block at a time is held: all repetitions share it.
struct Holder {
  std::string name;
  std::unique_ptr<GpuBlock> block;
  std::string error;
};

void measure(benchmark::State& state, const GpuBlockRun& run, comm::ProcessWorld& world, const MeshPtr& mesh,
             Holder& holder) {
  const std::string name = run.name(mesh->shape());
  if (holder.name != name) {
    holder = {name, nullptr, ""};
    c10::cuda::CUDACachingAllocator::emptyCache();
    try {
      holder.block = std::make_unique<GpuBlock>(run, mesh, world.device());
    } catch (const c10::OutOfMemoryError&) {
      if (world.size() > 1) throw;  // the others are in a collective: the world ends with this cause
      holder.error = "out of memory";
      c10::cuda::CUDACachingAllocator::emptyCache();
    }
  }
  if (!holder.block) {
    state.SkipWithError(holder.error.c_str());
    return;
  }
  for (auto _ : state) state.SetIterationTime(holder.block->seconds(runs_at_once(run.tokens)));
  state.counters["peak_bytes"] = static_cast<double>(holder.block->peak_bytes());
  state.counters["sent_bytes"] = static_cast<double>(holder.block->sent_bytes());
  state.counters["flops"] = holder.block->flops();
  state.counters["floor_ms"] = holder.block->floor_seconds() * 1e3;
}

int run(comm::ProcessWorld& world, const Suite& suite, std::vector<std::string> arguments) {
  if (world.rank() > 0) std::erase_if(arguments, [](const auto& a) { return a.starts_with("--benchmark_out"); });
  std::vector<char*> argv;
  for (auto& a : arguments) argv.push_back(a.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (benchmark::ReportUnrecognizedArguments(argc, argv.data())) return 2;

  const MeshPtr mesh = world.mesh(suite.mesh);
  Holder holder;
  const auto add = [&](const GpuBlockRun& r) {
    benchmark::RegisterBenchmark(r.name(suite.mesh).c_str(),
                                 [&, r](benchmark::State& state) { measure(state, r, world, mesh, holder); })
        ->Iterations(1)
        ->Repetitions(suite.runs)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const auto& block : suite.blocks)
    for (const bool fused : {true, false})
      for (const auto& dtype : suite.dtypes)
        for (const bool step : {false, true})
          for (const auto& tokens : suite.tokens) {
            if (!fused && (!suite.plain || !has_plain_path(block) || dtype != "bf16")) continue;
            GpuBlockRun r{block, step,        dtype == "bf16" ? at::kBFloat16 : at::kFloat, std::stoll(tokens), fused,
                          false, suite.chunks};
            add(r);
            r.graph = true;
            if (suite.graph && fused && !step) add(r);
          }
  PlainNames<benchmark::ConsoleReporter> console;
  PlainNames<benchmark::JSONReporter> json;
  Silent silent;
  const bool writes = std::ranges::any_of(arguments, [](const auto& a) { return a.starts_with("--benchmark_out="); });
  if (world.rank() > 0)
    benchmark::RunSpecifiedBenchmarks(&silent);
  else if (writes)
    benchmark::RunSpecifiedBenchmarks(&console, &json);
  else
    benchmark::RunSpecifiedBenchmarks(&console);
  if (!suite.trace.empty() && holder.block) trace(*holder.block, suite.trace + "." + std::to_string(world.rank()));
  return 0;
}

}  // namespace
}  // namespace cpize::bench

int main(int argc, char** argv) {
  using namespace cpize;
  try {
    std::vector<std::string> arguments(argv, argv + argc);
    const bench::Suite suite = bench::read_flags(arguments);
    comm::WorldOptions options;
    options.backend = comm::BackendKind::nccl;
    options.mesh = suite.mesh;
    options.command = "cpize_bench_gpu --mesh " + suite.mesh.str();
    options.with_environment();
    if (options.ranks_per_gpu > 1)
      throw ConfigError("CPIZE_RANKS_PER_GPU is for proofs; figures of speed want a GPU a rank: unset it");
    return comm::run_process_rank(argc, argv, options,
                                  [&](comm::ProcessWorld& world) { return bench::run(world, suite, arguments); });
  } catch (const Error& e) {
    std::cerr << e.what() << std::endl;
    return e.exit_code();
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    return 2;
  }
}
