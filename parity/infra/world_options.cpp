#include "parity/infra/world_options.hpp"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <sstream>

#include "error/error.hpp"
#include "parity/harness/request.hpp"

namespace cpize::parity {
namespace {

int integer(const std::string& option, const std::string& text) {
  int value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size())
    throw ConfigError(option + " " + text + " is no whole number");
  return value;
}

std::chrono::milliseconds seconds(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(value > 0) || value > 1e6)
    throw ConfigError(option + " " + text + " is no time in seconds; write for example " + option + " 60");
  return std::chrono::milliseconds(static_cast<std::int64_t>(value * 1000));
}

}  // namespace

WorldArguments WorldArguments::read(int argc, char** argv, const std::string& cells) {
  WorldArguments a;
  a.options.with_environment();
  a.options.command = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "<program>";
  for (int i = 1; i < argc; ++i) a.options.command += std::string(" ") + argv[i];
  std::string backend;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const bool known = option == "--mesh" || option == "--backend" || option == "--timeout" ||
                       option == "--join-timeout" || option == "--rank" || option == "--world" ||
                       option == "--local-rank" || option == "--local-world";
    if (!known) {
      a.rest.push_back(option);
      continue;
    }
    if (i + 1 == argc) throw ConfigError(option + " needs a value");
    const std::string value = argv[++i];
    if (option == "--mesh") a.meshes.push_back(value);
    if (option == "--backend") backend = value;
    if (option == "--timeout") a.options.timeout = seconds(option, value);
    if (option == "--join-timeout") a.options.join_timeout = seconds(option, value);
    if (option == "--rank") a.options.flags.rank = integer(option, value);
    if (option == "--world") a.options.flags.world = integer(option, value);
    if (option == "--local-rank") a.options.flags.local_rank = integer(option, value);
    if (option == "--local-world") a.options.flags.local_world = integer(option, value);
  }
  std::istringstream names(cells);
  for (std::string name; names >> name;) {
    const CellName cell = CellName::parse(name);
    if (!backend.empty() && cell.backend != backend)
      throw ConfigError("cell " + name + " is not over " + backend + ": cells of one run are over one backend");
    backend = cell.backend;
    a.meshes.push_back(cell.mesh);
  }
  for (const auto& mesh : a.meshes) {
    const MeshShape shape = MeshShape::parse(mesh);
    if (a.options.mesh && a.options.mesh->size() != shape.size() && backend != "threads" && !backend.empty())
      throw ConfigError("meshes " + a.options.mesh->str() + " and " + shape.str() +
                        " have different numbers of ranks; a world of processes has one");
    if (!a.options.mesh) a.options.mesh = shape;
  }
  const LaunchPurpose purpose{a.options.command, backend == "threads" ? std::nullopt : a.options.mesh};
  const bool launched =
      read_launch_environment(process_environment(), a.options.flags, {a.options.command, {}}).source != "none";
  if (backend.empty() && !launched)
    a.backend = comm::BackendKind::threads;
  else if (const auto launch = read_launch_environment(process_environment(), a.options.flags, purpose);
           backend.empty())
    a.backend = comm::default_backend(launch);
  else if (a.backend = comm::parse_backend(backend); a.backend == comm::BackendKind::threads && launch.world > 1)
    throw ConfigError("--backend threads makes all ranks in one process, but " + std::to_string(launch.world) +
                      " processes were started (" + launch.source +
                      "); start one, or use --backend mpi: " + launch.line);
  a.options.backend = a.backend;
  return a;
}

}  // namespace cpize::parity
