#include "parity/phases/training_case.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
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

}  // namespace

ResumedRun run_in_new_process(const std::filesystem::path& from, const MeshShape& mesh, std::int64_t steps,
                              const std::filesystem::path& to) {
  std::vector<std::string> words{"/proc/self/exe",      "--resume", from.string(), mesh.str(),
                                 std::to_string(steps), to.string()};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ); error != 0)
    throw ResourceError(std::string("cannot start a new process: ") + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw ResourceError(std::string("cannot wait for the new process: ") + std::strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error("the resumed process failed (status " + std::to_string(status) + "): its message is above");

  std::ifstream in(report_of(to));
  const auto report = nlohmann::json::parse(in);
  return {report.at("process"),
          report.at("parent"),
          report.at("resumed_at"),
          {values_of(report.at("losses")), values_of(report.at("gradient_norms"))}};
}

std::optional<int> resumed_main(int argc, char** argv, const std::function<TrainingCase()>& make) {
  if (argc != 6 || std::string(argv[1]) != "--resume") return std::nullopt;
  try {
    const std::filesystem::path from = argv[2], to = argv[5];
    const std::int64_t resumed_at = lifecycle::read_manifest(from).step;
    const Steps steps = train(make(), MeshShape::parse(argv[3]), from, std::stoll(argv[4]), to);
    std::ofstream out(report_of(to));
    out << nlohmann::json{{"process", ::getpid()},
                          {"parent", ::getppid()},
                          {"resumed_at", resumed_at},
                          {"losses", bits_of(steps.losses)},
                          {"gradient_norms", bits_of(steps.gradient_norms)}};
    out.flush();
    if (!out) throw ResourceError(report_of(to).string() + ": cannot be written");
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "resumed process: " << e.what() << std::endl;
    return 1;
  }
}

}  // namespace cpize::parity
