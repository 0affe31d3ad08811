// Machine: what this computer and this build bring to a context-parallel run.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace cpize::parity {

/// Facts as (name, text), in the order in which a report shows them. No host name and no path in them.
std::vector<std::pair<std::string, std::string>> machine_facts();

/// Empty if the torch headers this was compiled with and the libraries it runs with are the same, else what differs.
std::string torch_inconsistency();

}  // namespace cpize::parity
