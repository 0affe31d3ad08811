#include "parity/liveness/fault_plan.hpp"

#include <random>
#include <vector>

namespace cpize::parity {

std::string name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return "nothing";
    case FaultKind::skip:
      return "skipped sample";
    case FaultKind::allocation:
      return "failing allocation";
    case FaultKind::data_error:
      return "unreadable file";
    case FaultKind::non_finite:
      return "non-finite loss";
    case FaultKind::exception:
      return "exception";
    case FaultKind::returns:
      return "early return";
    case FaultKind::kill:
      return "SIGKILL";
    case FaultKind::stop:
      return "SIGSTOP";
  }
  return "";
}

FaultPlan FaultPlan::random(std::uint64_t seed, bool processes, int world) {
  std::mt19937_64 draw(seed * 6364136223846793005ull + 1442695040888963407ull);
  const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<std::uint64_t>(n)); };
  std::vector<FaultKind> kinds{FaultKind::skip,       FaultKind::allocation, FaultKind::allocation,
                               FaultKind::data_error, FaultKind::non_finite, FaultKind::exception,
                               FaultKind::returns};
  if (processes) kinds.insert(kinds.end(), {FaultKind::kill, FaultKind::stop, FaultKind::stop});
  FaultPlan plan;
  plan.kind = kinds[static_cast<std::size_t>(below(static_cast<int>(kinds.size())))];
  std::vector<MeshShape> meshes;
  for (int dp = 1; dp <= world; ++dp)
    for (int cp0 = 1; dp * cp0 <= world; ++cp0)
      if (world % (dp * cp0) == 0) meshes.emplace_back(dp, cp0, world / dp / cp0);
  plan.mesh = meshes[static_cast<std::size_t>(below(static_cast<int>(meshes.size())))];
  plan.rank = plan.kind == FaultKind::data_error ? 0 : below(world);
  plan.step = 1 + below(3);
  plan.collective = below(1000);
  plan.allocation = below(12);
  plan.infinite = below(2) == 1;
  return plan;
}

std::string FaultPlan::str() const {
  std::string text =
      name_of(kind) + " on rank " + std::to_string(rank) + " of " + mesh.str() + ", step " + std::to_string(step);
  if (kind == FaultKind::allocation || kind == FaultKind::exception || kind == FaultKind::kill ||
      kind == FaultKind::stop)
    text += ", collective " + std::to_string(collective) + " (modulo those of a step)";
  if (kind == FaultKind::allocation) text += ", allocation " + std::to_string(allocation);
  return text;
}

std::string FaultPlan::cause() const {
  switch (kind) {
    case FaultKind::allocation:
      return "can't allocate memory";
    case FaultKind::data_error:
      return "msa.a3m: planted: not readable";
    case FaultKind::non_finite:
      return infinite ? "is inf" : "is nan";
    case FaultKind::exception:
      return "planted exception on rank " + std::to_string(rank);
    case FaultKind::returns:
      return "rank " + std::to_string(rank) + " returned and never reached";
    case FaultKind::stop:
      return "rank " + std::to_string(rank);
    default:
      return "";
  }
}

}  // namespace cpize::parity
