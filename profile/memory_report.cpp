#include "profile/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

namespace cpize::profile {
namespace {

double bytes_at(const BytesByPlace& bytes, const std::string& scope, Phase phase) {
  const auto at = bytes.find({scope, phase});
  return at == bytes.end() ? 0.0 : static_cast<double>(at->second);
}

std::string label(const std::string& scope) { return scope.empty() ? "(no scope)" : "`" + scope + "`"; }

std::vector<std::string> rows_of(const MeasuredMemory& run) {
  std::vector<std::string> rows = run.scopes;
  for (const auto& [place, total] : run.profile.totals)
    if (std::find(rows.begin(), rows.end(), place.path) == rows.end()) rows.push_back(place.path);
  return rows;
}

std::string peak_table(const MeasuredMemory& run) {
  const auto& [p, b] = std::tie(run.profile, run.b);
  std::string text =
      "| scope | forward (b) | backward (b) | recompute (b) | MiB | share |\n|---|---|---|---|---|---|\n";
  for (const auto& scope : rows_of(run)) {
    double sum = 0;
    text += "| " + label(scope) + " |";
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::recompute}) {
      const double bytes = bytes_at(p.at_peak, scope, phase);
      sum += bytes;
      text += fmt::format(" {:.2f} |", bytes / b);
    }
    text += fmt::format(" {:.2f} | {:.1f} % |\n", sum / 1048576, 100 * sum / static_cast<double>(p.peak));
  }
  return text;
}

std::string budget_table(const MemoryProfile& p, double b) {
  const auto own = [](const auto& peaks, const std::string& scope) {
    const auto at = peaks.find(scope);
    return at == peaks.end() ? 0.0 : static_cast<double>(at->second);
  };
  std::string text =
      "| scope | forward | of | saved | of | step | of | budget from |\n|---|---|---|---|---|---|---|---|\n";
  const auto row = [&](const ScopeBudget& budget, double forward, double saved, double step) {
    const auto cell = [b](double bytes, double limit) {
      return fmt::format(" {:.2f} | {:.2f}{} |", bytes / b, limit / b, bytes <= limit ? "" : " **over**");
    };
    text += "| " + label(budget.scope) + " |" + cell(forward, budget.forward) + cell(saved, budget.saved) +
            cell(step, budget.step) + " " + budget.source + " |\n";
  };
  for (const auto& budget : p.budgets)
    row(budget, own(p.own_forward_peak, budget.scope), p.saved_of(budget.scope), own(p.own_peak, budget.scope));
  if (p.whole) {
    double saved = 0;
    for (const auto& [place, bytes] : p.saved) saved += static_cast<double>(bytes);
    text += fmt::format("| whole step | | | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {} |\n", saved / b, p.whole->saved / b,
                        static_cast<double>(p.peak) / b, p.whole->step / b, p.whole->source);
  }
  return text;
}

std::string work_table(const MeasuredMemory& run) {
  const auto& [p, b] = std::tie(run.profile, run.b);
  std::string text =
      "| scope | allocated in all (b) | largest one (b) | up-casts in all (b) | largest up-cast (b) | products forward "
      "(MFLOP) | backward | recomputed |\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& scope : rows_of(run)) {
    PlaceBytes sum;
    double flops[3] = {0, 0, 0};
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::recompute}) {
      if (const auto at = p.totals.find({scope, phase}); at != p.totals.end()) {
        sum.allocated += at->second.allocated;
        sum.wide += at->second.wide;
        sum.largest = std::max(sum.largest, at->second.largest);
        sum.largest_wide = std::max(sum.largest_wide, at->second.largest_wide);
      }
      if (const auto at = p.flops.find({scope, phase}); at != p.flops.end())
        flops[static_cast<int>(phase)] = at->second;
    }
    const double again = std::max(0.0, flops[1] + flops[2] - 2 * flops[0]);
    text += fmt::format("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} | {:.1f} |\n", label(scope),
                        static_cast<double>(sum.allocated) / b, static_cast<double>(sum.largest) / b,
                        static_cast<double>(sum.wide) / b, static_cast<double>(sum.largest_wide) / b, flops[0] / 1e6,
                        (flops[1] + flops[2]) / 1e6, again / 1e6);
  }
  return text;
}

/// An allocator's history knows no dtypes and no products.
std::string allocation_table(const MeasuredMemory& run) {
  const auto& [p, b] = std::tie(run.profile, run.b);
  std::string text = "| scope | phase | allocated in all (b) | largest one (b) |\n|---|---|---|---|\n";
  for (const auto& scope : rows_of(run))
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::recompute}) {
      const auto at = p.totals.find({scope, phase});
      if (at == p.totals.end()) continue;
      text += fmt::format("| {} | {} | {:.2f} | {:.2f} |\n", label(scope), name_of(phase),
                          static_cast<double>(at->second.allocated) / b, static_cast<double>(at->second.largest) / b);
    }
  return text;
}

}  // namespace

double MemoryScaling::exponent_in_n() const { return std::log2(mesh_large / mesh_small); }
double MemoryScaling::excess_over_q() const { return mesh_large * mesh.cp_size() / one_large; }

std::string memory_section(const MeasuredMemory& run) {
  const auto& p = run.profile;
  const double b = run.b;
  std::string text = fmt::format(
      "\n## {}\n\nPeak {:.2f} MiB = {:.2f} b, {:.1f} % of it in named scopes; b = {:.3f} MiB", run.title,
      static_cast<double>(p.peak) / 1048576, static_cast<double>(p.peak) / b, 100 * p.attributed_share(), b / 1048576);
  if (p.whole) text += fmt::format("; parameters {:.3f} MiB", static_cast<double>(p.parameter_bytes) / 1048576);
  if (run.gpu)
    text += fmt::format("; the allocator had taken {:.2f} MiB", static_cast<double>(run.gpu->reserved) / 1048576);
  if (p.whole) text += ". Budget: " + (p.over_budget().empty() ? "kept" : "**exceeded**: " + p.over_budget());
  text += ".";
  if (run.gpu && !run.gpu->snapshot.empty())
    text += " Allocator history for torch's memory_viz: `" +
            std::filesystem::path(run.gpu->snapshot).filename().string() + "` beside this report.";
  text += "\n\n### At the peak\n\n" + peak_table(run);
  if (p.whole) text += "\n### Each scope's own peak against its budget (b)\n\n" + budget_table(p, b);
  if (run.gpu) return text + "\n### Allocations\n\n" + allocation_table(run);
  return text + "\n### Allocations, up-casts, recomputation\n\n" + work_table(run);
}

std::string gpu_memory_report(const std::string& model, const std::vector<std::string>& sections,
                              const std::string& gpu) {
  std::string text = fmt::format(
      "# Memory of a training step of {} on {}\n\n"
      "From the history of the GPU's allocator: bytes that were asked for in one step (forward, backward, reduction of "
      "parameter gradients), booked to the named scope that asked for them; in backward to the scope in which the "
      "running autograd node was made. Memory that a communication stream still uses counts until it is free. Inputs, "
      "parameters, the output gradient, and what libraries allocate by themselves (NCCL, cuBLAS when it starts) are "
      "not "
      "counted. One rank a process and GPU; figures are of the rank with the highest peak. Unit b: one shard of z, B N "
      "N C / Q elements in the dtype of activations.\n",
      model, gpu);
  for (const auto& section : sections) text += section;
  return text;
}

std::string memory_report(const std::string& model, const std::vector<MeasuredMemory>& runs,
                          const std::vector<MemoryScaling>& scaling) {
  std::string text =
      "# Memory of a training step of " + model +
      "\n\n"
      "Bytes that the allocator gave out in one step (forward, backward, reduction of parameter gradients), booked to "
      "the named scope that asked for them; in backward to the scope in which the running autograd node was made. "
      "Inputs, parameters and the output gradient are not counted. Figures are of the rank with the highest peak. Unit "
      "b: one shard of z, B N N C / Q elements (serial: all of z). Budgets: the project's rule 11 and the cost table "
      "of "
      "its design; on top of it a scope may hold the gradients of its own parameters.\n\n"
      "The residual sum of a step is part of its scope, so the z that a step leaves is booked to it. \"Recomputed\" is "
      "what backward multiplies beyond twice the forward: the hand-written backward functions project again what they "
      "did not save. Scopes opened inside backward (checkpointing) are the column \"recompute\". "
      "Up-casts are allocations in a wider dtype than the run's.\n";
  for (const auto& run : runs) text += memory_section(run);
  text +=
      "\n## Scaling\n\nPeak bytes of a step at two sizes, on one rank and on the mesh. The exponent in N is 2 where "
      "memory is that of pairs, 3 where something cubic is held; Q x mesh / one rank is 1 where memory is shared out "
      "perfectly, Q where every rank holds everything.\n\n| mesh | N | one rank (MiB) | mesh (MiB) | exponent in N | Q "
      "x "
      "mesh / one rank |\n|---|---|---|---|---|---|\n";
  for (const auto& s : scaling) {
    text += fmt::format("| {} | {} | {:.2f} | {:.2f} | | {:.3f} |\n", s.mesh.str(), s.tokens, s.one_small / 1048576,
                        s.mesh_small / 1048576, s.mesh_small * s.mesh.cp_size() / s.one_small);
    text += fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |\n", s.mesh.str(), 2 * s.tokens,
                        s.one_large / 1048576, s.mesh_large / 1048576, s.exponent_in_n(), s.excess_over_q());
  }
  return text;
}

}  // namespace cpize::profile
