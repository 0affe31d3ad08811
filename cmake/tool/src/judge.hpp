// The judgement of one measured cell: what a program reported, against what its phase demands.
//
// The program measures and exits with 0 even when it is wrong; only this file decides whether a cell is green.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cpize::tool {

/// Raised by one when a rule becomes stricter: evidence that was judged under older rules is measured again.
inline constexpr int kRules = 1;

struct Worst {
  std::string name, derivation;
  double difference = 0, tolerance = 0;
};

struct CellJudgement {
  bool ok = false;
  std::string why;  // one line, without the cell's name
  int compared = 0;
  std::optional<Worst> worst;  // the measurement nearest to (or furthest over) its tolerance
  std::vector<std::string> not_applicable;
};

/// The profiles that a phase accepts; empty: any (`CHECK` has none).
std::vector<std::string> accepted_profiles(int phase, const std::string& verb);

/// "" or why a program may not report `profile` in this phase.
std::string refuse_profile(int phase, const std::string& verb, const std::string& profile);

CellJudgement judge_cell(const std::string& profile, int phase, const nlohmann::json& cell);

/// Parses a measurement file. `nan` and `inf`, which JSON does not know, become null, so that they are judged as what
/// they are: no number. On failure the result is discarded and `error` says where.
nlohmann::json parse_measurement(const std::string& text, std::string& error);

}  // namespace cpize::tool
