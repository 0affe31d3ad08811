#include "profile/compute_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace cpize::profile {
namespace {

double sum_of(const std::array<double, 3>& seconds) { return seconds[0] + seconds[1] + seconds[2]; }

double moving(const std::array<double, 3>& seconds) {
  return seconds[static_cast<int>(Work::pack)] + seconds[static_cast<int>(Work::transfer)];
}

std::string label(const std::string& scope) { return scope.empty() ? "(no scope)" : "`" + scope + "`"; }

std::string scope_table(const StepTimes& times, const std::vector<std::string>& scopes) {
  std::string text =
      "| scope | phase | ms | share | compute (ms) | pack (ms) | transfer and waiting (ms) | communication "
      "|\n|---|---|---|---|---|---|---|---|\n";
  std::vector<std::string> rows = scopes;
  for (const auto& [place, seconds] : times.own)
    if (std::find(rows.begin(), rows.end(), place.path) == rows.end()) rows.push_back(place.path);
  for (const auto& scope : rows)
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::recompute}) {
      const auto at = times.own.find({scope, phase});
      if (at == times.own.end()) continue;
      const auto& s = at->second;
      text += fmt::format("| {} | {} | {:.2f} | {:.1f} % | {:.2f} | {:.2f} | {:.2f} | {:.0f} % |\n", label(scope),
                          name_of(phase), 1e3 * sum_of(s), 100 * sum_of(s) / times.wall, 1e3 * s[0], 1e3 * s[1],
                          1e3 * s[2], sum_of(s) > 0 ? 100 * moving(s) / sum_of(s) : 0.0);
    }
  return text;
}

std::string operation_table(const StepTimes& times) {
  std::vector<std::pair<std::pair<std::string, std::string>, OperationTime>> longest(times.operations.begin(),
                                                                                     times.operations.end());
  std::sort(longest.begin(), longest.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  if (longest.size() > 12) longest.resize(12);
  std::string text = "| operation | scope | calls | ms | of the step |\n|---|---|---|---|---|\n";
  for (const auto& [name, time] : longest)
    text += fmt::format("| `{}` | {} | {} | {:.2f} | {:.1f} % |\n", name.first, label(name.second), time.calls,
                        1e3 * time.seconds, 100 * time.seconds / times.wall);
  return text;
}

}  // namespace

std::vector<std::string> communication_bound(const StepTimes& times) {
  std::vector<std::string> stages;
  for (const auto& [place, seconds] : times.own)
    if (!place.path.empty() && moving(seconds) > 0.5 * sum_of(seconds))
      stages.push_back(place.path + " " + std::string(name_of(place.phase)));
  return stages;
}

std::string compute_report(const std::string& model, const std::vector<MeasuredTimes>& runs, int hardware_threads) {
  std::string text = fmt::format(
      "# Time of a training step of {}\n\n"
      "One step (forward, backward, reduction of parameter gradients) recorded by Kineto, libtorch's profiler; every "
      "event's own time is booked to the named scope that it ran for, in backward to the scope that made the autograd "
      "node. Figures are of the rank whose step took longest. The profiler itself costs a few microseconds an event, "
      "so "
      "small operations look longer than they are.\n\n"
      "`pack` is packing and unpacking of exchanges; `transfer and waiting` is handing over, copying between ranks and "
      "waiting for peers. Ranks are threads of one process on {} hardware thread{}: where there are more ranks than "
      "those, waiting contains the time in which a peer had no core.\n",
      model, hardware_threads, hardware_threads == 1 ? "" : "s");
  for (const auto& run : runs) {
    const StepTimes& t = run.profile.slowest();
    text += "\n## " + run.title + "\n\n";
    text += fmt::format("Step {:.1f} ms, {:.1f} % in named scopes.", 1e3 * t.wall, 100 * t.attributed() / t.wall);
    if (!run.serial) {
      const auto stages = communication_bound(t);
      std::string names;
      for (const auto& stage : stages) names += (names.empty() ? "" : ", ") + stage;
      text += fmt::format(
          " Communication {:.1f} % (packing {:.1f} %, transfer and waiting {:.1f} %), {} collectives, {:.2f} MiB sent. "
          "Communication-bound (more than half of their time): {}.",
          100 * (t.seconds(Work::pack) + t.seconds(Work::transfer)) / t.wall, 100 * t.seconds(Work::pack) / t.wall,
          100 * t.seconds(Work::transfer) / t.wall, t.collectives, static_cast<double>(t.sent_bytes) / 1048576,
          names.empty() ? "none" : names);
    }
    if (!run.profile.trace.empty())
      text +=
          " Chrome trace: `" + std::filesystem::path(run.profile.trace).filename().string() + "` beside this report.";
    text += "\n\n" + scope_table(t, run.scopes) + "\n### Longest operations\n\n" + operation_table(t);
  }
  return text;
}

}  // namespace cpize::profile
