#include "child.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>

#include "errors.hpp"

namespace cpize::tool {
namespace {

volatile sig_atomic_t current_group = 0;
constexpr std::chrono::seconds kGrace{10};  // for the peers of a failed rank, which end by themselves with the cause

// Ctrl-C and kill reach us, not the child's own group: pass them on, then end as the signal wants
extern "C" void forward_signal(int signal) {
  if (current_group > 0) ::kill(-current_group, SIGKILL);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void handle_signals(void (*handler)(int)) {
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) {
    if (::signal(s, handler) == SIG_IGN) ::signal(s, SIG_IGN);  // nohup stays in force
  }
}

void prepare_child(const ChildSpec& spec, std::vector<char*>& argv, pid_t parent, pid_t group) {
  ::prctl(PR_SET_PDEATHSIG, spec.stop_signal);
  if (::getppid() != parent) ::_exit(126);  // the parent died before the line above
  ::setpgid(0, group);
  handle_signals(SIG_DFL);
  for (const auto& [k, v] : spec.environment) ::setenv(k.c_str(), v.c_str(), 1);
  if (!spec.directory.empty() && ::chdir(spec.directory.c_str()) != 0) ::_exit(126);
  const int in = ::open("/dev/null", O_RDONLY);
  ::dup2(in, 0);
  if (in > 0) ::close(in);
  if (!spec.log.empty()) {
    const int out = ::open(spec.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | (spec.append_log ? 0 : O_TRUNC), 0644);
    if (out < 0) ::_exit(126);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (out > 2) ::close(out);
  }
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

/// What a launcher left behind has become our child (we are their subreaper): nothing that we started outlives this.
void kill_orphans() {
  for (int round = 0; round < 100; ++round) {
    std::ifstream list(fmt::format("/proc/self/task/{}/children", ::getpid()));
    bool any = false;
    for (pid_t child = 0; list >> child; any = true) ::kill(child, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    if (!any) return;
    ::usleep(2000);
  }
}

ChildResult result_of(const ChildSpec& spec, int status) {
  ChildResult r;
  if (WIFEXITED(status)) r.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) r.signal = WTERMSIG(status);
  if (r.signal != 0) {
    r.text = fmt::format("was killed by signal {}", r.signal);
  } else if (r.exit == 126 || r.exit == 127) {
    r.not_started = true;
    r.text = fmt::format("could not be started ({})", spec.command[0]);
  } else {
    r.text = fmt::format("exited with {}", r.exit);
  }
  return r;
}

}  // namespace

ChildResult run_child(const ChildSpec& spec) { return run_children({spec}); }

ChildResult run_children(const std::vector<ChildSpec>& specs) {
  using Clock = std::chrono::steady_clock;
  const ChildSpec& first = specs.at(0);
  if (!first.log.empty()) fs::create_directories(first.log.parent_path());
  const bool launcher = first.stop_signal != SIGKILL;
  if (launcher) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto start = Clock::now();
  const pid_t parent = ::getpid();
  std::vector<pid_t> running;
  pid_t group = 0;
  for (const auto& spec : specs) {
    std::vector<char*> argv;
    for (const auto& s : spec.command) argv.push_back(const_cast<char*>(s.c_str()));
    argv.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) prepare_child(spec, argv, parent, group);
    if (pid < 0) {
      if (group > 0) ::kill(-group, SIGKILL);
      for (const pid_t p : running) ::waitpid(p, nullptr, 0);
      throw ToolError(kFailed, "cannot start a process: out of resources");
    }
    if (group == 0) group = pid;
    ::setpgid(pid, group);  // in both: whoever comes first
    running.push_back(pid);
    if (current_group == 0) {
      current_group = group;
      handle_signals(forward_signal);
    }
  }

  std::optional<ChildResult> failed, rank_0;
  auto limit = first.timeout > 0 ? start + std::chrono::seconds(first.timeout) : Clock::time_point::max();
  auto kill_at = Clock::time_point::max();
  bool timed_out = false, stopped = false;
  std::size_t left = specs.size();
  for (useconds_t pause = 500; left > 0;) {
    for (std::size_t i = 0; i < running.size(); ++i) {
      int status = 0;
      if (running[i] == 0 || ::waitpid(running[i], &status, WNOHANG) != running[i]) continue;
      running[i] = 0;
      --left;
      const ChildResult r = result_of(specs[i], status);
      if (!r.ok() && !failed) {
        failed = r;
        if (!stopped) limit = std::min(limit, Clock::now() + kGrace);
      }
      if (i == 0) rank_0 = r;
    }
    if (left == 0) break;
    const auto now = Clock::now();
    if (!stopped && now > limit) {
      stopped = true;
      timed_out = !failed;
      ::kill(-group, first.stop_signal);
      kill_at = now + (launcher ? std::chrono::seconds(3) : std::chrono::seconds(0));
    }
    if (stopped && now > kill_at) ::kill(-group, SIGKILL);
    ::usleep(pause);
    pause = std::min<useconds_t>(pause * 3 / 2, 20000);
  }
  current_group = 0;
  handle_signals(SIG_DFL);
  if (launcher) {
    kill_orphans();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  ChildResult r = failed ? *failed : *rank_0;
  r.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (timed_out) {
    r.timed_out = true;
    r.exit = -1;
    r.text = fmt::format("ran past its limit of {} s", first.timeout);
  }
  return r;
}

void die_with_ctest() {
  std::string name;
  const pid_t parent = ::getppid();
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", parent)), name);
  if (name != "ctest") return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailed);
}

}  // namespace cpize::tool
