// Request: what the `cpize` tool asks of a proving program, read from the environment; by hand, from the command line.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "parity/harness/measurement.hpp"

namespace cpize::parity {

/// `<dp>x<cp0>x<cp1>/<backend>/<dtype>/<device>`
struct CellName {
  std::string mesh, backend, dtype, device;

  /// ConfigError where `text` has another form.
  static CellName parse(const std::string& text);
  std::string str() const { return mesh + "/" + backend + "/" + dtype + "/" + device; }
  /// ConfigError naming the cell unless it is over threads, in fp64, on the CPU: what some programs measure alone.
  void require_threads_fp64_cpu() const;
  /// ConfigError naming the cell unless it is in fp64 on the CPU, over any backend.
  void require_fp64_cpu() const;
};

/// The cells that every port is proved on.
const std::vector<std::string>& standard_cells();

struct Request {
  std::string program;
  std::vector<std::string> cells;             // CPIZE_CELLS, or --mesh or --cell, or standard_cells()
  std::string measurement;                    // CPIZE_MEASUREMENT: where the JSON goes; empty by hand
  std::string artifact, task, build_dir;      // CPIZE_ARTIFACT, CPIZE_TASK, CPIZE_BUILD_DIR; may be empty
  std::map<std::string, std::int64_t> sizes;  // --size N=7,C=8: only by hand
  std::vector<std::string> arguments;         // what is neither --mesh, --cell nor --size, in order
  bool by_hand = true;

  /// The size given by hand, else `standard`.
  std::int64_t size_or(const std::string& name, std::int64_t standard) const {
    const auto at = sizes.find(name);
    return at == sizes.end() ? standard : at->second;
  }

  /// `--mesh 1x2x3`, `--cell 1x2x2/threads/bf16/cpu` (repeatable) and `--size N=7,C=8` are for people: a ConfigError
  /// where the tool asks.
  static Request read(int argc, char** argv);
};

/// main() of a proving program: reads the request, measures, writes the JSON, or prints a table where a person asks.
/// Returns 0 when it measured (even out of tolerance; by hand 1 if a problem is plain), an error's own exit code
/// otherwise.
int run_program(int argc, char** argv, const std::function<Measurement(const Request&)>& measure);
/// The same for a request that was read already.
int run_program(const Request& request, const std::function<Measurement(const Request&)>& measure);

/// Writes the measurement where the tool wants it (returns 0), or prints it for a person (1 if a problem is plain).
int deliver(const Request& request, const Measurement& measurement, double seconds);

}  // namespace cpize::parity
