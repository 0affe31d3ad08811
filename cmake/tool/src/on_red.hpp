// What is called when a task is red: `drive --on-red CMD`, or the delegate that the plan names for the task's phase.
#pragma once
#include <string>

#include "tree.hpp"

namespace cpize::tool {

struct OnRed {
  std::string command;  // of --on-red; "": only delegates are called
  int rounds = 3;       // calls for one task in one drive
  int timeout = 3600;   // seconds for one call; 0: none
};

/// The command for this task: the environment's CPIZE_DELEGATE_<phase>, else the plan's, else --on-red; "": nobody.
std::string command_for(const OnRed& on_red, const Plan& plan, const Task& task);

struct Called {
  bool changed = false;  // the task's key is another one now
  bool configured = true;
  std::string text;  // one line for people
};

/// Runs `command <task> <evidence>` by the shell, in the source directory, with the CPIZE_ variables that
/// docs/conductor.md lists; its output goes into <build>/cpize-logs. The tree is refreshed on return, and configured
/// again where the command changed what the plan was read from.
Called call_on_red(Tree& tree, const std::string& task, const std::string& command, const OnRed& on_red, int round);

}  // namespace cpize::tool
