#include "bench/scale_report.hpp"

#include <fmt/format.h>

namespace cpize::bench {
namespace {

std::string label(const std::optional<MeshShape>& mesh) { return mesh ? mesh->str() : "serial"; }

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576; }

double counter(const BlockLine& line, const std::string& name) {
  const auto at = line.counters.find(name);
  return at == line.counters.end() ? 0.0 : at->second;
}

}  // namespace

std::string scale_report(const std::string& model, std::int64_t budget, const std::vector<ScaleResult>& results,
                         const std::vector<BlockLine>& blocks, int hardware_threads) {
  std::string text = fmt::format(
      "# Benchmark of the {}\n\n"
      "Training steps (forward, backward, reduction of parameter gradients) in fp64; ranks are threads of one process "
      "on {} hardware thread{}, one intra-op thread a rank and for serial, so times on a mesh gain nothing beyond that "
      "many ranks. Memory does: it is counted by the allocator for each rank.\n\n"
      "## Largest number of tokens in {:.0f} MiB a rank\n\n"
      "Everything a rank holds counts: features, parameters and their gradients, output gradients, activations. Found "
      "by bisection between measured sizes.\n\n"
      "| | fits | does not fit | peak at the largest (MiB) | probes |\n|---|---|---|---|---|\n",
      model, hardware_threads, hardware_threads == 1 ? "" : "s", mib(budget));
  for (const auto& r : results)
    text += fmt::format("| {} | {} | {} | {:.2f} | {} |\n", label(r.mesh), r.max_tokens.fits, r.max_tokens.does_not_fit,
                        mib(r.max_tokens.largest().peak_bytes), r.max_tokens.probes.size());
  text +=
      "\n## Time and memory of a step over N\n\n| | N | ms | tokens/s | peak above inputs (MiB a rank) "
      "|\n|---|---|---|---|---|\n";
  for (const auto& r : results)
    for (const auto& at : r.over_n)
      text += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.2f} |\n", label(r.mesh), at.tokens, 1e3 * at.seconds,
                          static_cast<double>(at.tokens * r.batch) / at.seconds, mib(at.peak_bytes));
  text +=
      "\n## Blocks\n\nMeans of Google Benchmark. Bytes sent by the busiest rank, peak of the fullest rank above inputs "
      "and parameters, matrix products of all ranks with recomputation.\n\n| block | ms | sent (MiB) | peak (MiB) | "
      "tokens/s | GFLOP/s |\n|---|---|---|---|---|---|\n";
  for (const auto& line : blocks)
    text += fmt::format("| `{}` | {:.2f} | {:.3f} | {:.2f} | {:.1f} | {:.2f} |\n", line.name, line.milliseconds,
                        counter(line, "sent_bytes") / 1048576, counter(line, "peak_bytes") / 1048576,
                        counter(line, "tokens_per_s"), counter(line, "flops_per_s") / 1e9);
  return text;
}

}  // namespace cpize::bench
