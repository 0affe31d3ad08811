// Writes a measurement file of the toy: one difference a cell, with the facts that its profile demands.
#pragma once
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

// The environment variable, or "" if it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The facts that the gate demands of each profile; `sabotage` are the tamperings that it must see caught.
struct Demands {
  std::vector<std::string> facts, sabotage;
};
inline Demands demands(const std::string& profile) {
  if (profile == "block")
    return {{"sharding_active", "replicas_identical", "gradients_finite", "gradients_nonzero",
             "every_parameter_compared", "zero_parameters_perturbed", "random_output_gradient", "uneven_sizes_run",
             "padding_only_shard_run", "masks_vary", "poison_invariant"},
            {"drop_gradient", "swap_shards", "ignore_mask"}};
  if (profile == "feature")
    return {
        {"sharding_active", "local_smaller_than_global", "assembled_equal", "masks_consistent", "indices_consistent"},
        {"swap_shards"}};
  if (profile == "lifecycle")
    return {{"resumed_in_new_process", "bit_equal", "every_parameter_compared", "gradients_nonzero"}, {}};
  if (profile == "property") return {{"repeat_bit_identical", "negative_control_caught"}, {}};
  if (profile == "map") return {{"every_feature_listed", "every_scope_listed", "every_parameter_listed"}, {}};
  if (profile == "infra") return {{"world_matches_plan", "collectives_ran", "mismatch_detected"}, {}};
  if (profile == "profile") return {{"budget_checked", "scopes_attributed"}, {}};
  return {{"measured_nonempty"}, {}};
}

// Measures every cell of CPIZE_CELLS: `computed` against `expected`. Returns the program's exit status.
inline int measure(const std::string& profile, double computed, double expected) {
  if (const std::string ms = environment("TOY_MS"); !ms.empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(ms)));
  const std::string rank = environment(environment("OMPI_COMM_WORLD_RANK").empty() ? "RANK" : "OMPI_COMM_WORLD_RANK");
  if (const std::string trace = environment("TOY_TRACE"); !trace.empty())
    std::ofstream(trace, std::ios::app) << environment("CPIZE_TASK") + " rank " + rank + " of " +
                                               environment("WORLD_SIZE") + " on " +
                                               environment("CUDA_VISIBLE_DEVICES") + ": " + environment("CPIZE_CELLS") +
                                               "\n";
  if (!rank.empty() && rank != "0") return 0;  // one process a rank: rank 0 alone reports
  if (const std::string artifact = environment("CPIZE_ARTIFACT"); !artifact.empty())
    std::ofstream(artifact) << "# " << environment("CPIZE_TASK") << "\n\ncomputed " << computed << "\n";
  const std::string path = environment("CPIZE_MEASUREMENT");
  if (path.empty()) {
    std::cerr << "CPIZE_MEASUREMENT is not set: run this program through `cpize prove`\n";
    return 2;
  }
  const auto [facts, sabotage] = demands(profile);
  std::ofstream out(path);
  out << R"({"schema":1,"profile":")" << profile << R"(","cells":{)";
  std::istringstream cells(environment("CPIZE_CELLS"));
  std::string cell, comma;
  while (cells >> cell) {
    out << comma << '"' << cell << R"(":{"measurements":[{"name":"forward","difference":)"
        << std::abs(computed - expected) << R"(,"tolerance":1e-12,"derivation":"toy"}],)"
        << R"("counters":[{"name":"sent_bytes.forward","value":8,"bound":8}],"facts":{)";
    std::string separator;
    for (const auto& fact : facts) {
      out << separator << '"' << fact << R"(":"yes")";
      separator = ",";
    }
    out << R"(},"sabotage":{)";
    separator.clear();
    for (const auto& name : sabotage) {
      out << separator << '"' << name << R"(":"caught")";
      separator = ",";
    }
    out << "}}";
    comma = ",";
    std::cout << cell << ' ' << std::abs(computed - expected) << '\n';
  }
  out << R"(},"environment":{"compiler":"toy"},"details":{}})" << '\n';
  return out ? 0 : 2;
}
