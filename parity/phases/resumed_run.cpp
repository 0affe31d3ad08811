#include "parity/phases/training_case.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "error/error.hpp"

extern char** environ;

namespace cpize::parity {
namespace {

std::filesystem::path report_of(std::filesystem::path folder) { return folder += ".report.json"; }

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

std::vector<double> values_of(const nlohmann::json& bits) {
  std::vector<double> values;
  for (const auto& one : bits) values.push_back(std::bit_cast<double>(one.get<std::uint64_t>()));
  return values;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// What an MPI launcher tells its ranks, which a launcher that one of them starts must not see. Settings stay.
bool tells_of_this_world(const std::string& variable) {
  for (const char* setting : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_MCA_rmaps_", "OMPI_MCA_mpi_", "OMPI_MCA_hwloc_",
                              "OMPI_MCA_btl_", "OMPI_MCA_pml"})
    if (variable.starts_with(setting)) return false;
  return variable.starts_with("OMPI_") || variable.starts_with("PMIX_") || variable.starts_with("PMI_");
}

/// Runs to its end; "" or what went wrong.
std::string run_child(std::vector<std::string> words, std::vector<std::string> variables) {
  auto arguments = pointers_to(words), environment = pointers_to(variables);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environment.data()))
    return "cannot start " + words[0] + ": " + std::strerror(error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return std::string("cannot wait for the new process: ") + std::strerror(errno);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return "the resumed process failed (status " + std::to_string(status) + "): its message is above";
}

/// This process's part of starting the new world: threads and mpi, rank 0 starts all of it; nccl, every rank its own
/// successor, with the launcher's variables and another file to meet at.
std::string start_world(const Setting& setting, std::vector<std::string> words, const std::string& meeting) {
  std::vector<std::string> variables;
  for (char** v = environ; *v; ++v) variables.emplace_back(*v);
  if (setting.backend == "nccl") {
    std::erase_if(variables, [](const std::string& v) { return v.starts_with("CPIZE_RENDEZVOUS="); });
    variables.push_back("CPIZE_RENDEZVOUS=" + meeting);
    return run_child(words, variables);
  }
  if (!reports_here()) return "";
  if (setting.backend == "mpi") {
    std::erase_if(variables, tells_of_this_world);
    const char* given = std::getenv("CPIZE_MPIEXEC");
    words.insert(words.begin(), {given ? given : "mpirun", "-n", std::to_string(setting.mesh.size())});
  }
  return run_child(words, variables);
}

}  // namespace

ResumedRun run_in_new_process(const std::filesystem::path& from, const Setting& setting, std::int64_t steps,
                              const std::filesystem::path& to) {
  const CellName cell{setting.mesh.str(), setting.backend, setting.dtype_name(),
                      setting.device_type == c10::kCUDA ? "cuda" : "cpu"};
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  agreed_text(setting, "");  // what they resume from is written
  const std::string mine =
      start_world(setting, {program, "--resume", from.string(), cell.str(), std::to_string(steps), to.string()},
                  to.string() + ".rendezvous");
  const bool failed = !mine.empty();
  for (const auto& rank : on_every_rank(setting, [&](const MeshPtr&) { return RankReport{{}, {{"failed", failed}}}; }))
    if (rank.numbers.at("failed") != 0) throw Error(failed ? mine : "the resumed process of another rank failed");

  std::ifstream in(report_of(to));
  const auto report = nlohmann::json::parse(in);
  return {report.at("processes").get<std::set<std::int64_t>>(),
          report.at("resumed_at"),
          {values_of(report.at("losses")), values_of(report.at("gradient_norms"))}};
}

std::optional<int> resumed_main(int argc, char** argv, const std::function<TrainingCase()>& make) {
  if (argc != 6 || std::string(argv[1]) != "--resume") return std::nullopt;
  try {
    const std::filesystem::path from = argv[2], to = argv[5];
    const CellName cell = CellName::parse(argv[3]);
    return run_in_world_of(cell, argc, argv, [&] {
      const Setting setting = Setting::of(cell);
      const std::int64_t resumed_at = lifecycle::read_manifest(from).step;
      const Steps steps = train(make(), setting, from, std::stoll(argv[4]), to);
      std::set<std::int64_t> processes;
      for (const auto& rank : on_every_rank(setting, [](const MeshPtr&) {
             return RankReport{{}, {{"process", static_cast<double>(::getpid())}}};
           }))
        processes.insert(static_cast<std::int64_t>(rank.numbers.at("process")));
      if (!reports_here()) return 0;
      std::ofstream out(report_of(to));
      out << nlohmann::json{{"processes", processes},
                            {"resumed_at", resumed_at},
                            {"losses", bits_of(steps.losses)},
                            {"gradient_norms", bits_of(steps.gradient_norms)}};
      out.flush();
      if (!out) throw ResourceError(report_of(to).string() + ": cannot be written");
      return 0;
    });
  } catch (const std::exception& e) {
    std::cerr << "resumed process: " << e.what() << std::endl;
    return 1;
  }
}

}  // namespace cpize::parity
