// cpize-world: shows a world and tries it. Any launcher can start it; here its ranks are threads of one process.
//
//   cpize-world --mesh 1x2x3      prints every rank's coordinates and runs the smoke tests; exit 0 if they pass
// Started by `cpize prove`, it is the infra gate of phase 1 and writes docs/cp_infra.md.
#include "comm/call_site.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/request.hpp"
#include "parity/infra/machine.hpp"
#include "parity/infra/smoke.hpp"

namespace cpize::parity {
namespace {

struct WorldResult {
  std::vector<std::string> ranks;  // "rank 3: dp 0, cp0 1, cp1 0"
  std::string failure;             // empty: the smoke tests passed
  std::string mismatch;            // what the sanitizer said of a planted mistake; empty: it noticed nothing
};

WorldResult try_world(const MeshShape& shape) {
  WorldResult result;
  result.ranks.resize(shape.size());
  try {
    comm::run_ranks(shape, [&](const MeshPtr& mesh) {
      const auto& at = mesh->coordinates();
      result.ranks[mesh->rank()] = "rank " + std::to_string(mesh->rank()) + ": dp " + std::to_string(at[Axis::dp]) +
                                   ", cp0 " + std::to_string(at[Axis::cp0]) + ", cp1 " + std::to_string(at[Axis::cp1]);
      check_coordinates(mesh);
      check_collectives(mesh);
      check_redistribution(mesh);
    });
  } catch (const std::exception& e) {
    result.failure = e.what();
  }
  if (shape.size() == 1) {
    result.mismatch = "one rank has nobody to disagree with";
    return result;
  }
  try {  // a planted mistake: the last rank brings another shape
    comm::run_ranks(shape, [](const MeshPtr& mesh) {
      comm::CallSite site("planted mistake");
      std::vector<at::Tensor> t{at::zeros({mesh->rank() + 1 == mesh->size() ? 2 : 1})};
      mesh->backend().allreduce(t)->wait();
    });
  } catch (const PeerError& e) {
    result.mismatch = e.what();
  }
  return result;
}

std::string report(const std::map<std::string, WorldResult>& worlds) {
  std::string text = "# Infrastructure\n\n| | |\n|---|---|\n";
  for (const auto& [name, value] : machine_facts()) text += "| " + name + " | " + value + " |\n";
  text += "| ranks available | as many threads as wanted; more than the cores share them |\n";
  for (const auto& [mesh, world] : worlds) {
    text +=
        "\n## Mesh " + mesh + "\n\nLaunch: `cpize-world --mesh " + mesh + "` (ranks are threads of one process)\n\n";
    for (const auto& rank : world.ranks) text += "* " + rank + "\n";
    text += "\nSmoke tests (coordinates, all-reduce, all-to-all, barrier, redistribution): " +
            (world.failure.empty() ? "passed" : "FAILED: " + world.failure) + "\n";
    text += "\nA planted mismatch was reported as: " + (world.mismatch.empty() ? "NOTHING" : world.mismatch) + "\n";
  }
  return text;
}

Measurement measure(const Request& request) {
  Measurement m("infra");
  describe_environment(m);
  for (const auto& [name, value] : machine_facts()) m.environment(name, value);
  std::map<std::string, WorldResult> worlds;
  for (const auto& name : request.cells) {
    const CellName parsed = CellName::parse(name);
    if (parsed.backend != "threads")
      throw NotImplemented("cpize-world: backend '" + parsed.backend + "' is not available in this build; use threads");
    const MeshShape shape = MeshShape::parse(parsed.mesh);
    const WorldResult& world = worlds[parsed.mesh] = try_world(shape);
    Cell& cell = m.cell(name);
    cell.fact("world_matches_plan",
              fact_unless(static_cast<int>(world.ranks.size()) == shape.size() && !world.ranks.back().empty()
                              ? torch_inconsistency()
                              : "not every rank came up"));
    cell.fact("collectives_ran", fact_unless(world.failure));
    cell.fact("mismatch_detected", fact_unless(world.mismatch.empty() ? "a planted mismatch went unnoticed" : ""));
    cell.counter("ranks", shape.size());
  }
  const std::string text = report(worlds);
  write_artifact(request, text);
  return m;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_program(argc, argv, cpize::parity::measure); }
