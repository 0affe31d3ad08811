// Starting a program that dies with us: its own process group, a time limit, stdin at its end, output into a log.
#pragma once
#include <signal.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cpize::tool {

namespace fs = std::filesystem;

struct ChildSpec {
  std::vector<std::string> command;
  fs::path log;  // stdout and stderr
  fs::path directory;
  std::map<std::string, std::string> environment;  // added to ours
  int timeout = 0;                                 // seconds; 0: none
  bool append_log = false;                         // keep what the log holds
  int stop_signal = SIGKILL;                       // a launcher gets SIGTERM first, and 3 s to end its own children
};

struct ChildResult {
  int exit = -1;   // the exit status, or -1
  int signal = 0;  // the signal that ended it
  bool timed_out = false, not_started = false;
  double seconds = 0;
  bool ok() const { return exit == 0; }
  /// "exited with 3", "was killed by signal 11", "ran past its limit of 20 s", "could not be started"
  std::string text;
};

ChildResult run_child(const ChildSpec& spec);

/// All at once in one process group, under the first one's limit: the ranks of one world. When one fails, the others
/// have 10 s to end by themselves. The result is that of the first that failed, by time, else of rank 0.
ChildResult run_children(const std::vector<ChildSpec>& specs);

/// When started by ctest: die with it, so that a killed ctest leaves nothing behind.
void die_with_ctest();

}  // namespace cpize::tool
