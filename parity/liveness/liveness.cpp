// cpize-liveness: lets things go wrong on one rank and watches whether every rank learns of it, in time.
//
//   cpize-liveness --faults 1000 [--seed 1]                     ranks are threads: that many random faults, one after
//   the other mpirun -n 4 cpize-liveness --backend mpi --seed 17          ranks are processes: one fault;
//   liveness_test.py runs many
//
// Over threads exit 0 means: every rank of every fault ended with the cause, within the bound. As a process each rank
// ends as it would in a training run.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <mutex>
#include <thread>

#include "comm/agree.hpp"
#include "comm/run_ranks.hpp"
#include "comm/world.hpp"
#include "error/error.hpp"
#include "parity/liveness/training_steps.hpp"

namespace cpize::parity {
namespace {

constexpr int steps = 5;
constexpr std::chrono::seconds threads_bound{5}, threads_timeout{10};

double now() {  // the clock of Python's time.monotonic()
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string message_of(const std::exception_ptr& failure) {
  if (!failure) return "";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

/// Ends the program where a fault leads to a hang: then no rank comes back at all.
class HangAlarm {
 public:
  explicit HangAlarm(std::string what, std::chrono::seconds limit)
      : what_(std::move(what)), thread_([this, limit] {
          std::unique_lock lock(mutex_);
          if (over_.wait_for(lock, limit, [this] { return stop_; })) return;
          std::fprintf(stderr, "HANG: %s\n", what_.c_str());
          _exit(9);
        }) {}
  ~HangAlarm() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  std::string what_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool stop_ = false;
  std::thread thread_;
};

/// Empty where all is as it must be.
std::string judge(const FaultPlan& plan, const std::vector<std::exception_ptr>& failures,
                  const std::vector<StepsDone>& done, bool fired) {
  if (!fired) return "the fault did not happen";
  for (int r = 0; r < plan.mesh.size(); ++r) {
    const std::string message = message_of(failures[r]);
    const std::string who = "rank " + std::to_string(r) + ": ";
    if (plan.ends_well()) {
      if (!message.empty()) return who + "failed: " + message;
      if (done[r].skipped != 1 || done[r].steps != steps - 1 || done[r].gradient != done[0].gradient)
        return who + "counts " + std::to_string(done[r].skipped) + " skipped of " + std::to_string(done[r].steps);
      continue;
    }
    if (plan.kind == FaultKind::returns && r == plan.rank) continue;  // that rank has nothing to complain about
    if (message.empty()) return who + "ended as if nothing had happened";
    if (message.find(plan.cause()) == std::string::npos) return who + "does not say the cause: " + message;
  }
  return "";
}

int over_threads(int faults, std::uint64_t seed) {
  constexpr int worlds[] = {2, 4, 6, 8};
  std::map<std::string, int> kinds;
  double worst = 0;
  std::string worst_plan;
  int bad = 0;
  for (int i = 0; i < faults; ++i) {
    const FaultPlan plan = FaultPlan::random(seed + static_cast<std::uint64_t>(i), false, worlds[i % 4]);
    std::atomic<double> at{0};
    std::vector<StepsDone> done(plan.mesh.size());
    HangAlarm alarm(plan.str(), 2 * threads_timeout + threads_bound);
    comm::ThreadsOptions options;
    options.timeout = threads_timeout;
    const auto failures = comm::run_ranks_collect(
        plan.mesh,
        [&](const MeshPtr& inner) {
          const auto faulty = c10::make_intrusive<FaultyBackend>(
              c10::intrusive_ptr<c10d::Backend>::reclaim_copy(&inner->backend()), plan, [&] { at = now(); });
          const auto mesh = c10::make_intrusive<DeviceMesh>(plan.mesh, faulty, inner->rank());
          done[inner->rank()] = training_steps(mesh, *faulty, plan, steps);
        },
        options);
    const double took = at > 0 ? now() - at : 0;
    std::string wrong = judge(plan, failures, done, at > 0);
    if (wrong.empty() && took > std::chrono::duration<double>(threads_bound).count())
      wrong = "took " + std::to_string(took) + " s to end";
    if (!wrong.empty()) {
      ++bad;
      std::cout << "RED seed " << seed + static_cast<std::uint64_t>(i) << ": " << plan.str() << ": " << wrong << "\n";
    }
    ++kinds[name_of(plan.kind)];
    if (took > worst && !plan.ends_well()) worst = took, worst_plan = plan.str();
  }
  std::cout << faults << " faults over threads, " << bad << " red, 0 hangs; worst time to end " << worst << " s ("
            << worst_plan << "), bound " << threads_bound.count() << " s\n";
  for (const auto& [kind, count] : kinds) std::cout << "  " << count << " x " << kind << "\n";
  return bad == 0 ? 0 : 1;
}

int as_a_process(int argc, char** argv, comm::BackendKind backend, std::uint64_t seed) {
  comm::WorldOptions options;
  options.backend = backend;
  options.command = "cpize-liveness";
  options.with_environment();
  return comm::run_process_rank(argc, argv, options, [&](comm::ProcessWorld& world) {
    const FaultPlan plan = FaultPlan::random(seed, true, world.size());
    if (world.rank() == 0) std::cout << "plan: " + plan.str() + "\n" << std::flush;
    const auto faulty = c10::make_intrusive<FaultyBackend>(
        c10::intrusive_ptr<c10d::Backend>::reclaim_copy(&world.backend()), plan,
        [] {
          char line[64];
          const int n = std::snprintf(line, sizeof line, "fault at %.6f\n", now());
          if (write(STDERR_FILENO, line, static_cast<std::size_t>(n)) != n) _exit(1);
        },
        world.device());
    const auto mesh = c10::make_intrusive<DeviceMesh>(plan.mesh, faulty, world.rank(), world.device());
    const StepsDone done = training_steps(mesh, *faulty, plan, steps);
    std::cout << "rank " + std::to_string(world.rank()) + " done: " + std::to_string(done.steps) + " steps, " +
                     std::to_string(done.skipped) + " skipped\n"
              << std::flush;
    return 0;
  });
}

int run(int argc, char** argv) {
  int faults = 100;
  std::uint64_t seed = 1;
  auto backend = comm::BackendKind::threads;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw ConfigError(option + " needs a value");
    const std::string value = argv[++i];
    if (option == "--faults")
      faults = std::stoi(value);
    else if (option == "--seed")
      seed = std::stoull(value);
    else if (option == "--backend")
      backend = comm::parse_backend(value);
    else
      throw ConfigError("'" + option + "' is no option; there are --faults, --seed, --backend");
  }
  return backend == comm::BackendKind::threads ? over_threads(faults, seed) : as_a_process(argc, argv, backend, seed);
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) {
  try {
    return cpize::parity::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "cpize-liveness: " << e.what() << std::endl;
    return 2;
  }
}
