#include "mode.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "errors.hpp"

namespace cpize::tool {
namespace {

void decide(Tree& tree, const std::string& mode, const std::string& why) {
  record(tree.plan().decisions, {{"event", "mode"}, {"mode", mode}, {"why", why}});
  tree.refresh();
}

// a person, and not a script whose input happens to be a terminal
bool somebody_is_there() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

std::string ask() {
  for (;;) {
    fmt::print("drive on without asking (automatic), or stop at each wave for approval (manual)? [automatic] ");
    std::fflush(stdout);
    std::string answer;
    if (!std::getline(std::cin, answer)) throw UsageError("no answer; say it: cpize drive --automatic, or --manual");
    if (answer.empty() || answer == "a" || answer == "auto" || answer == "automatic") return "automatic";
    if (answer == "m" || answer == "manual") return "manual";
    fmt::print("automatic or manual, please\n");
  }
}

}  // namespace

std::string mode_now(const Tree& tree) {
  if (!tree.plan().mode.empty()) return tree.plan().mode;
  return tree.decisions().mode.empty() ? "automatic" : tree.decisions().mode;
}

std::string settle_mode(Tree& tree, const std::string& word) {
  if (!word.empty()) {
    if (tree.plan().mode.empty() && word != mode_now(tree)) decide(tree, word, "said to drive");
    return word;
  }
  if (tree.plan().mode.empty() && tree.decisions().mode.empty() && somebody_is_there()) {
    decide(tree, ask(), "answered to drive");
  }
  return mode_now(tree);
}

}  // namespace cpize::tool
