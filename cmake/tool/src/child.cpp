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

#include "errors.hpp"

namespace cpize::tool {
namespace {

volatile sig_atomic_t current_group = 0;

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

void prepare_child(const ChildSpec& spec, std::vector<char*>& argv, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);  // the parent died before the line above
  ::setpgid(0, 0);
  handle_signals(SIG_DFL);
  for (const auto& [k, v] : spec.environment) ::setenv(k.c_str(), v.c_str(), 1);
  if (!spec.directory.empty() && ::chdir(spec.directory.c_str()) != 0) ::_exit(126);
  const int in = ::open("/dev/null", O_RDONLY);
  ::dup2(in, 0);
  if (in > 0) ::close(in);
  if (!spec.log.empty()) {
    const int out = ::open(spec.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (out < 0) ::_exit(126);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (out > 2) ::close(out);
  }
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

ChildResult run_child(const ChildSpec& spec) {
  using Clock = std::chrono::steady_clock;
  if (!spec.log.empty()) fs::create_directories(spec.log.parent_path());
  std::vector<char*> argv;
  for (const auto& s : spec.command) argv.push_back(const_cast<char*>(s.c_str()));
  argv.push_back(nullptr);
  const auto start = Clock::now();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw ToolError(kFailed, "cannot start a process: out of resources");
  if (pid == 0) prepare_child(spec, argv, parent);
  ::setpgid(pid, pid);  // in both: whoever comes first
  current_group = pid;
  handle_signals(forward_signal);
  ChildResult r;
  int status = 0;
  useconds_t pause = 500;
  for (;;) {
    const pid_t done = ::waitpid(pid, &status, WNOHANG);
    if (done == pid) break;
    if (spec.timeout > 0 && Clock::now() - start > std::chrono::seconds(spec.timeout)) {
      r.timed_out = true;
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
    ::usleep(pause);
    pause = std::min<useconds_t>(pause * 3 / 2, 20000);
  }
  current_group = 0;
  handle_signals(SIG_DFL);
  r.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (WIFEXITED(status)) r.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) r.signal = WTERMSIG(status);
  if (r.timed_out) {
    r.exit = -1;
    r.text = fmt::format("ran past its limit of {} s", spec.timeout);
  } else if (r.signal != 0) {
    r.text = fmt::format("was killed by signal {}", r.signal);
  } else if (r.exit == 126 || r.exit == 127) {
    r.not_started = true;
    r.text = fmt::format("could not be started ({})", spec.command[0]);
  } else {
    r.text = fmt::format("exited with {}", r.exit);
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
