// The state of a task, derived from evidence, locks and decisions; it is stored nowhere.
#pragma once
#include <string>

#include "tree.hpp"

namespace cpize::tool {

struct State {
  std::string name;  // todo, in_flight, done, dirty, blocked, out-of-scope
  std::string why;   // "" when done
};

State state_of(Tree& tree, const Task& task);

}  // namespace cpize::tool
