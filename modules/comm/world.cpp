#include "comm/world.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "comm/process_store.hpp"
#include "error/error.hpp"

namespace cpize::comm {
namespace {

constexpr std::chrono::milliseconds grace{2'000};  // what ranks have to hear of a failure and to say so

std::chrono::milliseconds seconds_of(const char* name, std::chrono::milliseconds otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0) || seconds > 1e6)
    throw ConfigError(std::string(name) + "=" + text + " is no time; write seconds, as in " + name + "=60");
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

void say(const ProcessWorld& world, const std::string& cause) {
  // one write, so that lines of several ranks do not mix
  const std::string line =
      "cpize: rank " + std::to_string(world.rank()) + " of " + std::to_string(world.size()) + ": " + cause + "\n";
  std::cerr << line << std::flush;
}

/// Ends the process when another rank fails while this one does not notice: it computes, or it is stuck in a library.
class Watch {
 public:
  explicit Watch(const ProcessWorld& world)
      : world_(world), thread_([this] {
          while (!stop_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const std::string cause = stop_ ? "" : world_.backend().failure();
            if (cause.empty()) continue;
            for (int i = 0; i < 10 && !stop_; ++i) std::this_thread::sleep_for(grace / 10);
            if (stop_) return;
            say(world_, cause);
            world_.backend().fail(cause);
            world_.backend().linger(2 * grace);
            _exit(1);
          }
        }) {}
  ~Watch() { stop(); }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  const ProcessWorld& world_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

[[noreturn]] void end_with(const ProcessWorld& world, const std::string& what, int code) {
  const std::string first = world.backend().fail(what);
  say(world, first.empty() ? what : first);
  world.backend().linger(2 * grace);  // longer than a rank that computes takes to notice
  std::cout << std::flush;
  _exit(code ? code : 1);  // no destructors: they could wait for peers that are gone
}

}  // namespace

BackendKind parse_backend(const std::string& text) {
  for (const auto kind : {BackendKind::threads, BackendKind::mpi, BackendKind::nccl})
    if (text == name_of(kind)) return kind;
  throw ConfigError("'" + text + "' is no backend; write threads, mpi or nccl");
}

std::string name_of(BackendKind kind) {
  return kind == BackendKind::threads ? "threads" : kind == BackendKind::mpi ? "mpi" : "nccl";
}

BackendKind default_backend(const LaunchEnvironment& launch) {
  if (launch.source == "none") return BackendKind::threads;
  if (launch.source == "openmpi") return BackendKind::mpi;
  return why_no_nccl().empty() && at::hasCUDA() ? BackendKind::nccl : BackendKind::mpi;
}

WorldOptions& WorldOptions::with_environment() {
  timeout = seconds_of("CPIZE_TIMEOUT", timeout);
  join_timeout = seconds_of("CPIZE_JOIN_TIMEOUT", join_timeout);
  if (const char* check = std::getenv("CPIZE_CHECK_COLLECTIVES"); check && *check) {
    const std::string value = check;
    if (value != "0" && value != "1") throw ConfigError("CPIZE_CHECK_COLLECTIVES=" + value + " is neither 0 nor 1");
    check_collectives = value == "1";
  }
  if (const char* peers = std::getenv("CPIZE_PEER_COPIES"); peers && *peers) {
    const std::string value = peers;
    if (value != "0" && value != "1") throw ConfigError("CPIZE_PEER_COPIES=" + value + " is neither 0 nor 1");
    peer_copies = value == "1" ? PeerCopiesChoice::always : PeerCopiesChoice::never;
  }
  if (const char* ranks = std::getenv("CPIZE_RANKS_PER_GPU"); ranks && *ranks) {
    const char* const last = ranks + std::strlen(ranks);
    const auto [end, error] = std::from_chars(ranks, last, ranks_per_gpu);
    if (error != std::errc() || end != last || ranks_per_gpu < 1 || ranks_per_gpu > 64)
      throw ConfigError(std::string("CPIZE_RANKS_PER_GPU=") + ranks + " is no number from 1 to 64");
  }
  return *this;
}

ProcessWorld::ProcessWorld(LaunchEnvironment launch, c10::intrusive_ptr<ProcessBackend> backend, std::string command)
    : launch_(std::move(launch)), command_(std::move(command)), backend_(std::move(backend)) {}
ProcessWorld::~ProcessWorld() = default;
ProcessWorld::ProcessWorld(ProcessWorld&&) noexcept = default;

ProcessWorld ProcessWorld::join(const WorldOptions& options) {
  if (options.backend == BackendKind::threads)
    throw ConfigError(
        "ranks that are threads are started by one process (comm::run_ranks); a world of processes takes "
        "--backend mpi or nccl");
  const EnvironmentMap environment = process_environment();
  const LaunchEnvironment launch = read_launch_environment(environment, options.flags, {options.command, options.mesh});
  const ProcessBackendOptions backend{options.timeout,           options.join_timeout, options.largest_message,
                                      options.check_collectives, options.peer_copies,  options.ranks_per_gpu};
  if (options.backend == BackendKind::nccl) return {launch, join_nccl(launch, backend), options.command};
  // Started by torchrun or by hand, MPI would be a world of one: first see who is here.
  const bool by_mpi = launch.source == "openmpi" || launch.source == "none" ||
                      environment.count("OMPI_COMM_WORLD_SIZE") || launch.source == "slurm";
  if (!by_mpi && launch.world > 1) join_store(launch, options.join_timeout);
  return {launch, join_mpi(launch, backend), options.command};
}

at::Device ProcessWorld::device() const { return backend_->device(); }
ProcessBackend& ProcessWorld::backend() const { return *backend_; }

MeshPtr ProcessWorld::mesh(const MeshShape& shape) const {
  LaunchEnvironment launch = launch_;
  launch.line = launch_line(launch.source, shape.size(), command_);
  require_mesh_fits(shape, launch);
  return c10::make_intrusive<DeviceMesh>(shape, backend_, launch_.rank, backend_->device());
}

int run_process_rank(int, char**, const WorldOptions& options, const std::function<int(ProcessWorld&)>& f) {
  at::set_num_threads(1);  // ranks share the cores
  std::optional<ProcessWorld> world;
  try {
    world.emplace(ProcessWorld::join(options));
  } catch (const Error& e) {
    std::cerr << "cpize: " + std::string(e.what()) + "\n" << std::flush;
    _exit(e.exit_code());
  } catch (const c10::Error& e) {
    std::cerr << "cpize: " + std::string(e.what_without_backtrace()) + "\n" << std::flush;
    _exit(1);
  } catch (const std::exception& e) {
    std::cerr << "cpize: " + std::string(e.what()) + "\n" << std::flush;
    _exit(1);
  }
  Watch watch(*world);
  try {
    const int code = f(*world);
    std::cout << std::flush;
    world->backend().leave();
    return code;
  } catch (const Error& e) {
    watch.stop();
    end_with(*world, e.what(), e.exit_code());
  } catch (const c10::Error& e) {
    watch.stop();
    end_with(*world, e.what_without_backtrace(), 1);
  } catch (const std::exception& e) {
    watch.stop();
    end_with(*world, e.what(), 1);
  } catch (...) {
    watch.stop();
    end_with(*world, "something was thrown that is no std::exception", 1);
  }
}

}  // namespace cpize::comm
