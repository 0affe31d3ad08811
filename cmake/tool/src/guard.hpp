// The guard: what must be green before a task may run, checked by the tool itself, since CTest's fixtures can be
// switched off.
#pragma once
#include <optional>
#include <string>

#include "tree.hpp"

namespace cpize::tool {

struct Refusal {
  std::string why;  // one line that names the root and the command to run
  std::string root;
};

/// Producers, map and infra gates and, in phases 6 and 7, the barriers must be green now.
std::optional<Refusal> guard(Tree& tree, const std::string& task);

/// The same for everything in a phase: its barrier. Phases 6 and 7 also need at least one proof of phase 5.
std::optional<Refusal> guard_phase(Tree& tree, int phase);

/// The ladder that `drive` follows: every earlier phase is a hard barrier.
std::optional<Refusal> guard_ladder(Tree& tree, const std::string& task);

}  // namespace cpize::tool
