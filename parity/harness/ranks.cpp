#include "parity/harness/ranks.hpp"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <iostream>

#include "comm/agree.hpp"
#include "comm/run_ranks.hpp"
#include "comm/world.hpp"
#include "error/error.hpp"

namespace cpize::parity {
namespace {

/// The world that this process joined; null where ranks are threads. Set once, by run_ranked_program().
comm::ProcessWorld* joined = nullptr;

comm::ProcessWorld& world_for(const Setting& setting) {
  if (!joined)
    throw ConfigError("a cell over " + setting.backend +
                      " needs one process a rank: start the program with its launcher (mpirun, torchrun, srun)");
  if (joined->size() != setting.mesh.size())
    throw ConfigError("the mesh " + setting.mesh.str() + " has " + std::to_string(setting.mesh.size()) +
                      " ranks, but the launcher started " + std::to_string(joined->size()));
  return *joined;
}

RankReport on_the_cpu(RankReport report) {
  for (auto& [name, tensor] : report.tensors) tensor = tensor.detach().cpu().contiguous();
  return report;
}

/// The one backend of all cells that are asked for.
std::string backend_of(const Request& request) {
  std::string backend;
  for (const auto& name : request.cells) {
    const CellName cell = CellName::parse(name);
    if (backend.empty()) backend = cell.backend;
    if (cell.backend != backend)
      throw ConfigError("cells over " + backend + " and over " + cell.backend + " need two runs of " + request.program);
  }
  return backend;
}

bool needs_gpu(const Request& request) {
  for (const auto& name : request.cells)
    if (CellName::parse(name).device == "cuda") return true;
  return false;
}

}  // namespace

std::vector<RankReport> on_every_rank(const Setting& setting, const std::function<RankReport(const MeshPtr&)>& f) {
  std::vector<RankReport> reports(setting.mesh.size());
  if (setting.backend == "threads") {
    comm::run_ranks(setting.mesh, [&](const MeshPtr& mesh) { reports[mesh->rank()] = on_the_cpu(f(mesh)); });
    return reports;
  }
  const MeshPtr mesh = world_for(setting).mesh(setting.mesh);
  const auto all = comm::gather_bytes(*mesh, to_bytes(f(mesh)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) reports.at(rank) = report_from_bytes(all[rank]);
  return reports;
}

std::string agreed_text(const Setting& setting, const std::string& mine) {
  if (setting.backend == "threads") return mine;
  return comm::gather_bytes(*world_for(setting).mesh(setting.mesh), mine).at(0);
}

bool reports_here() { return !joined || joined->rank() == 0; }

c10::Device gpu_of_this_process() {
  if (joined && joined->device().is_cuda()) return joined->device();
  return {at::kCUDA, 0};
}

int run_in_world_of(const CellName& cell, int argc, char** argv, const std::function<int()>& f) {
  comm::WorldOptions options;
  try {
    if (cell.backend == "threads") return f();
    options.backend = comm::parse_backend(cell.backend);
    options.mesh = MeshShape::parse(cell.mesh);
    options.command = argv[0];
    options.with_environment();
  } catch (const Error& e) {
    std::cerr << e.what() << std::endl;
    return e.exit_code();
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a launcher that is killed leaves no rank behind
  return comm::run_process_rank(argc, argv, options, [&](comm::ProcessWorld& world) {
    joined = &world;
    if (cell.device == "cuda" && at::hasCUDA())
      c10::impl::VirtualGuardImpl(at::kCUDA).setDevice(gpu_of_this_process());  // kernels that ask for the current one
    const int status = f();
    joined = nullptr;
    return status;
  });
}

int run_ranked_program(int argc, char** argv, const std::function<Measurement(const Request&)>& measure) {
  Request request;
  CellName cell;
  try {
    request = Request::read(argc, argv);
    cell = CellName::parse(request.cells.front());
    cell.backend = backend_of(request);
    if (needs_gpu(request)) cell.device = "cuda";
  } catch (const Error& e) {
    std::cerr << e.what() << std::endl;
    return e.exit_code();
  }
  if (cell.backend == "threads") return run_program(request, measure);
  return run_in_world_of(cell, argc, argv, [&] {
    const auto start = std::chrono::steady_clock::now();
    const Measurement measurement = measure(request);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return reports_here() ? deliver(request, measurement, seconds.count()) : 0;
  });
}

}  // namespace cpize::parity
