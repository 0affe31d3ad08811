#include "profile/device_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace cpize::profile {
namespace {

std::string label(const std::string& scope) { return scope.empty() ? "(no scope)" : "`" + scope + "`"; }

std::string largest_by_name(const DeviceTimes& times, std::size_t most, double DevicePlaceTimes::*value) {
  std::vector<std::pair<double, Place>> largest;
  for (const auto& [place, of] : times.places)
    if (of.*value > 0) largest.push_back({of.*value, place});
  std::sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [seconds, place] : largest) {
    if (most-- == 0) break;
    text += fmt::format("{}{} {} {:.3f} ms", text.empty() ? "" : ", ", place.path.empty() ? "(no scope)" : place.path,
                        name_of(place.phase), 1e3 * seconds);
  }
  return text.empty() ? "none" : text;
}

std::string scope_table(const DeviceTimes& times, std::vector<std::string> scopes) {
  std::string text =
      "| scope | phase | compute (ms) | pack (ms) | communication (ms) | of it exposed (ms) | idle before (ms) | "
      "kernels' "
      "share |\n|---|---|---|---|---|---|---|---|\n";
  double all = 0;
  for (const auto& [place, of] : times.places) {
    all += of.own[0] + of.own[1] + of.own[2];
    if (std::find(scopes.begin(), scopes.end(), place.path) == scopes.end()) scopes.push_back(place.path);
  }
  for (const auto& scope : scopes)
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::recompute}) {
      const auto at = times.places.find({scope, phase});
      if (at == times.places.end()) continue;
      const DevicePlaceTimes& of = at->second;
      text += fmt::format("| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.1f} % |\n", label(scope),
                          name_of(phase), 1e3 * of.own[0], 1e3 * of.own[1], 1e3 * of.own[2], 1e3 * of.exposed,
                          1e3 * of.idle_before, 100 * (of.own[0] + of.own[1] + of.own[2]) / all);
    }
  return text;
}

/// Names of kernels are C++ signatures: what stands before their arguments, within a width.
std::string short_name(std::string name) {
  if (name.starts_with("void ")) name.erase(0, 5);
  for (const char* anonymous : {"(anonymous namespace)::", "at::native::", "cpize::"})
    for (auto at = name.find(anonymous); at != std::string::npos; at = name.find(anonymous))
      name.erase(at, std::string(anonymous).size());
  if (const auto arguments = name.find('('); arguments != std::string::npos && arguments > 0) name.resize(arguments);
  if (name.size() > 90) name = name.substr(0, 87) + "...";
  std::replace(name.begin(), name.end(), '|', '/');
  return name;
}

std::string kernel_table(const DeviceTimes& times) {
  std::vector<std::pair<std::pair<std::string, std::string>, OperationTime>> longest(times.kernels.begin(),
                                                                                     times.kernels.end());
  std::sort(longest.begin(), longest.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  if (longest.size() > 16) longest.resize(16);
  std::string text = "| kernel | scope | calls | ms | of the step |\n|---|---|---|---|---|\n";
  for (const auto& [name, time] : longest)
    text += fmt::format("| `{}` | {} | {} | {:.3f} | {:.1f} % |\n", short_name(name.first), label(name.second),
                        time.calls, 1e3 * time.seconds, 100 * time.seconds / times.wall);
  return text;
}

}  // namespace

std::string exposed_by_name(const DeviceTimes& times, std::size_t most) {
  return largest_by_name(times, most, &DevicePlaceTimes::exposed);
}

std::string idle_by_name(const DeviceTimes& times, std::size_t most) {
  return largest_by_name(times, most, &DevicePlaceTimes::idle_before);
}

std::string device_section(const std::string& title, const DeviceTimes& t, const std::vector<std::string>& scopes,
                           const std::string& trace) {
  const auto row = [&](const std::string& what, double seconds, const std::string& note) {
    return fmt::format("| {} | {:.3f} | {:.1f} % | {} |\n", what, 1e3 * seconds, 100 * seconds / t.wall, note);
  };
  std::string text = fmt::format("\n## {}\n\n| | ms | of the step | |\n|---|---|---|---|\n", title);
  text += row("step, recorded", t.wall,
              fmt::format("{} kernels and copies, {} of them NCCL's; {:.1f} % of their time in scopes", t.activities,
                          t.communication_kernels, 100 * t.attributed_share()));
  if (t.unprofiled > 0) text += row("step, not recorded", t.unprofiled, "median of five");
  text += row("compute", t.compute, fmt::format("packing among it: {:.3f} ms", 1e3 * t.seconds(Work::pack)));
  text += row("communication", t.communication,
              fmt::format("{} collectives, {:.2f} MiB sent, waiting for peers included", t.collectives,
                          static_cast<double>(t.sent_bytes) / 1048576));
  text += row("exposed communication", t.exposed, exposed_by_name(t));
  text += row("idle", t.idle, "before " + idle_by_name(t));
  text += row("idle, the host's", t.idle_for_host, "what came next was not launched yet");
  if (!trace.empty())
    text += "\nChrome trace: `" + std::filesystem::path(trace).filename().string() + "` beside this report.\n";
  return text + "\n### By scope\n\n" + scope_table(t, scopes) + "\n### Longest kernels\n\n" + kernel_table(t);
}

std::string device_report(const std::string& model, const std::vector<std::string>& sections, const std::string& gpu) {
  std::string text = fmt::format(
      "# Time of a training step of {} on {}\n\n"
      "One step (forward, backward, reduction of parameter gradients) recorded by Kineto, libtorch's profiler, one "
      "rank "
      "a process and GPU; figures are of the rank whose step took longest. Every kernel is booked to the named scope "
      "that launched it, in backward to the scope that made the autograd node. The profiler costs the host a few "
      "microseconds a launch, so idle time looks longer than it is: compare the step that was not recorded.\n\n"
      "`communication` is the time of NCCL's kernels, waiting for peers included; it is exposed where no other kernel "
      "runs beside it. compute + exposed communication + idle = step. Idle time is booked to the scope whose work came "
      "next.\n",
      model, gpu);
  for (const auto& section : sections) text += section;
  return text;
}

}  // namespace cpize::profile
