#include "profile/device_step.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "comm/agree.hpp"
#include "profile/kineto.hpp"

namespace cpize::profile {
namespace {

/// The trace's file; without a name one that goes when it has been read.
class TraceFile {
 public:
  explicit TraceFile(const std::string& name) : temporary_(name.empty()), path_(name) {
    if (temporary_)
      path_ = std::filesystem::temp_directory_path() / ("cpize." + std::to_string(::getpid()) + ".trace.json");
  }
  ~TraceFile() {
    std::error_code ignored;
    if (temporary_) std::filesystem::remove(path_, ignored);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  bool temporary_;
  std::filesystem::path path_;
};

}  // namespace

DeviceTimes measure_device_times(const Step& step, const MeshPtr& mesh, c10::Device device, const std::string& trace) {
  const c10::impl::VirtualGuardImpl gpu(device.type());
  const auto run_to_the_end = [&] {
    step({});
    gpu.synchronizeDevice(device.index());
  };
  const auto start_together = [&] {
    comm::agree_no_error(*mesh, "");
    gpu.synchronizeDevice(device.index());
  };
  for (int warm_up = 0; warm_up < 2; ++warm_up) run_to_the_end();
  std::array<double, 5> seconds;
  for (double& one : seconds) {
    start_together();
    const auto begin = std::chrono::steady_clock::now();
    run_to_the_end();
    one = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::sort(seconds.begin(), seconds.end());

  std::int64_t collectives = 0, sent = 0;
  NodeScopes nodes;
  const auto result = under_kineto(true, [&] {
    run_to_the_end();  // the first events cost milliseconds
    start_together();
    const ScopeTracker tracker(ScopeTracker::Reach::process);
    collectives = mesh->traffic().collectives, sent = mesh->traffic().sent_bytes;
    {
      RECORD_USER_SCOPE(kStepRange);
      run_to_the_end();
    }
    collectives = mesh->traffic().collectives - collectives, sent = mesh->traffic().sent_bytes - sent;
    nodes = tracker.nodes();
  });
  const TraceFile file(trace);
  result->save(file.path());
  DeviceTimes times = device_times(read_chrome_trace(file.path()), nodes);
  times.unprofiled = seconds[2];
  times.collectives = collectives;
  times.sent_bytes = sent;
  return times;
}

}  // namespace cpize::profile
