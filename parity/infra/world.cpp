// cpize-world: shows a world and tries it: every rank's place, the smoke tests, and what a planted mistake is answered
// with.
//
//   cpize-world --mesh 1x2x3                     ranks are threads of this process
//   mpirun -n 4 cpize-world --mesh 2x2           ranks are processes over MPI
//   torchrun --no-python --nproc-per-node 2 cpize-world --mesh 1x2      over NCCL, one GPU a rank
//
//   cpize-world --meet --mesh 2x2                                       processes only find each other over their store
//
// Exit 0 where all is well; 2 where mesh, flags and launcher disagree. Options: parity/infra/world_options.hpp. Started
// by `cpize prove`, it is the infra gate of phase 1 and writes docs/cp_infra.md; only rank 0 writes.
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "comm/agree.hpp"
#include "comm/call_site.hpp"
#include "comm/process_store.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/request.hpp"
#include "parity/infra/machine.hpp"
#include "parity/infra/smoke.hpp"
#include "parity/infra/world_options.hpp"

namespace cpize::parity {
namespace {

struct WorldResult {
  std::vector<std::string> ranks;  // "rank 3: dp 0, cp0 1, cp1 0"
  std::string failure;             // empty: the smoke tests passed
  std::string mismatch;            // what a planted mistake was answered with; empty: nobody noticed
};

std::string place_of(const DeviceMesh& mesh) {
  const auto& at = mesh.coordinates();
  return "rank " + std::to_string(mesh.rank()) + ": dp " + std::to_string(at[Axis::dp]) + ", cp0 " +
         std::to_string(at[Axis::cp0]) + ", cp1 " + std::to_string(at[Axis::cp1]);
}

void try_everything(const MeshPtr& mesh) {
  check_coordinates(mesh);
  check_collectives(mesh);
  check_redistribution(mesh);
}

/// The last rank brings another shape. Returns what it was answered with.
std::string plant_mistake(const DeviceMesh& mesh, c10d::Backend& backend) {
  comm::CallSite site("planted mistake");
  std::vector<at::Tensor> t{at::zeros({mesh.rank() + 1 == mesh.size() ? 2 : 1}, mesh.control_device())};
  try {
    backend.allreduce(t)->wait();
  } catch (const PeerError& e) {
    return e.what();
  }
  return "";
}

const char* const nobody_to_disagree = "one rank has nobody to disagree with";

WorldResult try_threads(const MeshShape& shape) {
  WorldResult result;
  result.ranks.resize(shape.size());
  try {
    comm::run_ranks(shape, [&](const MeshPtr& mesh) {
      result.ranks[mesh->rank()] = place_of(*mesh);
      try_everything(mesh);
    });
  } catch (const std::exception& e) {
    result.failure = e.what();
  }
  if (shape.size() == 1) {
    result.mismatch = nobody_to_disagree;
    return result;
  }
  std::vector<std::string> answers(shape.size());
  comm::run_ranks(shape, [&](const MeshPtr& mesh) { answers[mesh->rank()] = plant_mistake(*mesh, mesh->backend()); });
  for (const auto& answer : answers)
    if (answer.empty()) return result;
  result.mismatch = answers[0];
  return result;
}

/// A collective. A failing smoke test ends the program on every rank.
WorldResult try_processes(const comm::ProcessWorld& world, const MeshShape& shape) {
  WorldResult result;
  const MeshPtr mesh = world.mesh(shape);
  try_everything(mesh);
  const auto& launch = world.launch();
  result.ranks = comm::gather_bytes(*mesh, place_of(*mesh) + "; process " + std::to_string(launch.local_rank) + " of " +
                                               std::to_string(launch.local_world) + " here, by " + launch.source +
                                               ", on " + world.device().str());
  if (shape.size() == 1) {
    result.mismatch = nobody_to_disagree;
    return result;
  }
  const auto spare = world.backend().spare();
  const auto answers = comm::gather_bytes(*mesh, plant_mistake(*mesh, *spare));
  for (const auto& answer : answers)
    if (answer.empty()) return result;
  result.mismatch = answers[0];
  return result;
}

std::string launch_text(const CellName& cell, int ranks) {
  if (cell.backend == "threads") return "`cpize-world --mesh " + cell.mesh + "` (ranks are threads of one process)";
  return "`" + launch_line(cell.backend == "mpi" ? "openmpi" : "torchrun", ranks, "cpize-world --mesh " + cell.mesh) +
         "` (one process a rank, over " + cell.backend + ")";
}

std::string report(const std::map<std::string, WorldResult>& worlds) {
  std::string text = "# Infrastructure\n\n| | |\n|---|---|\n";
  for (const auto& [name, value] : machine_facts()) text += "| " + name + " | " + value + " |\n";
  text += "| ranks as threads | as many as wanted; more than the cores share them |\n";
  text += "| mpi | " + (comm::why_no_mpi().empty() ? "in this build" : comm::why_no_mpi()) + " |\n";
  text += "| nccl | " + (comm::why_no_nccl().empty() ? "in this build" : comm::why_no_nccl()) + " |\n";
  for (const auto& [name, world] : worlds) {
    const CellName cell = CellName::parse(name);
    text += "\n## Mesh " + cell.mesh + " over " + cell.backend +
            "\n\nLaunch: " + launch_text(cell, MeshShape::parse(cell.mesh).size()) + "\n\n";
    for (const auto& rank : world.ranks) text += "* " + rank + "\n";
    text += "\nSmoke tests (coordinates, all-reduce, all-to-all, barrier, redistribution): " +
            (world.failure.empty() ? "passed" : "FAILED: " + world.failure) + "\n";
    text += "\nA planted mismatch was reported as: " + (world.mismatch.empty() ? "NOTHING" : world.mismatch) + "\n";
  }
  return text;
}

/// `world`: null where ranks are threads. Writes the report where this process is to report.
Measurement measure(const Request& request, const comm::ProcessWorld* world) {
  Measurement m("infra");
  describe_environment(m);
  for (const auto& [name, value] : machine_facts()) m.environment(name, value);
  std::map<std::string, WorldResult> worlds;
  for (const auto& name : request.cells) {
    const MeshShape shape = MeshShape::parse(CellName::parse(name).mesh);
    const WorldResult& tried = worlds[name] = world ? try_processes(*world, shape) : try_threads(shape);
    Cell& cell = m.cell(name);
    cell.fact("world_matches_plan",
              fact_unless(static_cast<int>(tried.ranks.size()) == shape.size() && !tried.ranks.back().empty()
                              ? torch_inconsistency()
                              : "not every rank came up"));
    cell.fact("collectives_ran", fact_unless(tried.failure));
    cell.fact("mismatch_detected", fact_unless(tried.mismatch.empty() ? "a planted mismatch went unnoticed" : ""));
    cell.counter("ranks", shape.size());
  }
  if (world && world->rank() != 0) return m;
  write_artifact(request, report(worlds));
  return m;
}

std::string cells_of(const WorldArguments& arguments) {
  std::string cells;
  const std::string backend = comm::name_of(arguments.backend);
  const std::string tail = "/" + backend + "/fp64/" + (backend == "nccl" ? "cuda" : "cpu");
  for (const auto& mesh : arguments.meshes) cells += MeshShape::parse(mesh).str() + tail + " ";
  return cells;
}

/// The part of a launch that needs neither MPI nor a GPU.
int meet(const comm::WorldOptions& options) {
  const auto launch = read_launch_environment(process_environment(), options.flags, {options.command, options.mesh});
  const auto met = comm::join_store(launch, options.join_timeout);
  std::cout << "rank " + std::to_string(launch.rank) + ": all " + std::to_string(launch.world) + " ranks met\n"
            << std::flush;
  met.store->set("read/" + std::to_string(launch.rank), std::vector<std::uint8_t>{1});
  if (launch.rank > 0) return 0;
  std::vector<std::string> read;  // rank 0 may serve the store: it goes last
  for (int r = 0; r < launch.world; ++r) read.push_back("read/" + std::to_string(r));
  met.store->wait(read, options.join_timeout);
  return 0;
}

int run(int argc, char** argv) {
  const char* cells = std::getenv("CPIZE_CELLS");
  WorldArguments arguments;
  try {
    arguments = WorldArguments::read(argc, argv, cells ? cells : "");
    if (std::erase(arguments.rest, "--meet") > 0) return meet(arguments.options);
    if (!arguments.rest.empty()) throw ConfigError("'" + arguments.rest[0] + "' is no option of cpize-world");
    if (arguments.meshes.empty() && arguments.backend != comm::BackendKind::threads)
      throw ConfigError("which mesh? write for example --mesh 1x2x2");
    // by hand the cells follow from the arguments; the harness then reads them as if the tool had asked
    if (!cells && !arguments.meshes.empty()) setenv("CPIZE_CELLS", cells_of(arguments).c_str(), 1);
  } catch (const Error& e) {
    std::cerr << "cpize-world: " + std::string(e.what()) + "\n";
    return e.exit_code();
  }
  char* only_name[] = {argv[0], nullptr};
  if (arguments.backend == comm::BackendKind::threads)
    return run_program(1, only_name, [](const Request& request) { return measure(request, nullptr); });
  arguments.options.check_collectives = true;
  return comm::run_process_rank(argc, argv, arguments.options, [&](comm::ProcessWorld& world) {
    std::exception_ptr failure;
    int code = 0;
    const auto here = [&](const Request& request) {
      try {
        return measure(request, &world);
      } catch (...) {
        failure = std::current_exception();
        throw;
      }
    };
    if (world.rank() == 0)
      code = run_program(1, only_name, here);
    else
      here(Request::read(1, only_name));
    if (failure) std::rethrow_exception(failure);  // the other ranks must hear of it
    return code;
  });
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run(argc, argv); }
