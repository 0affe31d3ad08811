#include "parity/harness/request.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "error/error.hpp"

namespace cpize::parity {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

std::map<std::string, std::int64_t> read_sizes(const std::string& text) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& one : split(text, ',')) {
    const auto parts = split(one, '=');
    char* end = nullptr;
    const std::int64_t value = parts.size() == 2 ? std::strtoll(parts[1].c_str(), &end, 10) : 0;
    if (parts.size() != 2 || parts[0].empty() || *end != '\0' || value < 1)
      throw ConfigError("--size: '" + one + "' is not NAME=NUMBER; write for example --size N=7,C=8");
    sizes[parts[0]] = value;
  }
  return sizes;
}

void print_cell(const std::string& name, const Cell& cell) {
  const Difference* worst = nullptr;
  for (const auto& d : cell.differences())
    if (!worst || !(d.difference * worst->tolerance <= worst->difference * d.tolerance)) worst = &d;
  const auto problems = cell.problems();
  std::printf("%-26s %s", name.c_str(), problems.empty() ? "ok " : "RED");
  std::printf("  %3zu compared", cell.differences().size());
  if (worst)
    std::printf(", worst %s: %.2g of %.2g (%s)", worst->name.c_str(), worst->difference, worst->tolerance,
                worst->derivation.c_str());
  std::printf("\n");
  for (const auto& c : cell.counters()) {
    std::printf("    %-28s %14.0f", c.name.c_str(), c.value);
    if (c.bound) std::printf("  of %14.0f  (%.2f)", *c.bound, *c.bound > 0 ? c.value / *c.bound : 0.0);
    std::printf("\n");
  }
  for (const auto* table : {&cell.facts(), &cell.sabotages()})
    for (const auto& [fact, value] : *table)
      if (value.starts_with("n/a")) std::printf("    %-28s %s\n", fact.c_str(), value.c_str());
  for (const auto& line : problems) std::printf("    ! %s\n", line.c_str());
}

}  // namespace

CellName CellName::parse(const std::string& text) {
  const auto parts = split(text, '/');
  if (parts.size() != 4) throw ConfigError("cell '" + text + "' is not <dp>x<cp0>x<cp1>/<backend>/<dtype>/<device>");
  return {parts[0], parts[1], parts[2], parts[3]};
}

void CellName::require_threads_fp64_cpu() const {
  if (backend != "threads" || dtype != "fp64" || device != "cpu")
    throw ConfigError("cell " + str() + " cannot be measured by this program: it measures <mesh>/threads/fp64/cpu");
}

void CellName::require_fp64_cpu() const {
  if (dtype != "fp64" || device != "cpu")
    throw ConfigError("cell " + str() + " cannot be measured by this program: it measures <mesh>/<backend>/fp64/cpu");
}

const std::vector<std::string>& standard_cells() {
  static const std::vector<std::string> cells = [] {
    std::vector<std::string> names;
    for (const char* mesh : {"1x1x1", "1x1x2", "1x2x1", "1x2x2", "1x2x3", "1x3x3", "2x1x2"})
      names.push_back(std::string(mesh) + "/threads/fp64/cpu");
    return names;
  }();
  return cells;
}

Request Request::read(int argc, char** argv) {
  Request request;
  request.program = argc > 0 ? argv[0] : "";
  request.measurement = from_environment("CPIZE_MEASUREMENT");
  request.artifact = from_environment("CPIZE_ARTIFACT");
  request.task = from_environment("CPIZE_TASK");
  request.build_dir = from_environment("CPIZE_BUILD_DIR");
  request.by_hand = request.measurement.empty();
  std::istringstream cells(from_environment("CPIZE_CELLS"));
  for (std::string cell; cells >> cell;) request.cells.push_back(cell);
  if (!request.by_hand && request.cells.empty())
    throw ConfigError("CPIZE_MEASUREMENT is set but CPIZE_CELLS names no cell to measure");

  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument != "--mesh" && argument != "--cell" && argument != "--size") {
      request.arguments.push_back(argument);
      continue;
    }
    if (!request.by_hand) throw ConfigError(argument + " is for runs by hand; evidence is measured at standard sizes");
    if (i + 1 == argc) throw ConfigError(argument + " needs a value");
    const std::string value = argv[++i];
    if (argument == "--cell")
      request.cells.push_back(value);
    else if (argument == "--mesh")
      request.cells.push_back((std::ranges::count(value, 'x') == 1 ? "1x" + value : value) + "/threads/fp64/cpu");
    else
      request.sizes.merge(read_sizes(value));
  }
  if (request.cells.empty()) request.cells = standard_cells();
  for (const auto& cell : request.cells) CellName::parse(cell);
  return request;
}

int deliver(const Request& request, const Measurement& measurement, double seconds) {
  if (!request.by_hand) {
    measurement.write(request.measurement);
    return 0;
  }
  bool plain = true;
  for (const auto& [name, cell] : measurement.cells()) {
    print_cell(name, cell);
    plain = plain && cell.problems().empty();
  }
  std::printf("%zu cells in %.1f s\n", measurement.cells().size(), seconds);
  return plain ? 0 : 1;
}

int run_program(const Request& request, const std::function<Measurement(const Request&)>& measure) {
  try {
    const auto start = std::chrono::steady_clock::now();
    const Measurement measurement = measure(request);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return deliver(request, measurement, seconds.count());
  } catch (const Error& e) {
    std::cerr << e.what() << std::endl;
    return e.exit_code();
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
}

int run_program(int argc, char** argv, const std::function<Measurement(const Request&)>& measure) {
  Request request;
  try {
    request = Request::read(argc, argv);
  } catch (const Error& e) {
    std::cerr << e.what() << std::endl;
    return e.exit_code();
  }
  return run_program(request, measure);
}

}  // namespace cpize::parity
