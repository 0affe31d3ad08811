#include "judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "text.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

struct Demands {
  Names facts, sabotage;
  bool measurements = false;  // at least one difference in every cell
};

const std::map<std::string, Demands>& demands() {
  static const std::map<std::string, Demands> table{
      {"block",
       {{"sharding_active", "replicas_identical", "gradients_finite", "gradients_nonzero", "every_parameter_compared",
         "zero_parameters_perturbed", "random_output_gradient", "uneven_sizes_run", "padding_only_shard_run",
         "masks_vary", "poison_invariant"},
        {"drop_gradient", "swap_shards", "ignore_mask"},
        true}},
      {"feature",
       {{"sharding_active", "local_smaller_than_global", "assembled_equal", "masks_consistent", "indices_consistent"},
        {"swap_shards"},
        true}},
      {"lifecycle",
       {{"resumed_in_new_process", "bit_equal", "every_parameter_compared", "gradients_nonzero"}, {}, true}},
      {"property", {{"repeat_bit_identical", "negative_control_caught"}, {}, false}},
      {"map", {{"every_feature_listed", "every_scope_listed", "every_parameter_listed"}, {}, false}},
      {"infra", {{"world_matches_plan", "collectives_ran", "mismatch_detected"}, {}, false}},
      {"profile", {{"budget_checked", "scopes_attributed"}, {}, false}},
      {"bench", {{"measured_nonempty"}, {}, false}},
  };
  return table;
}

// where "does not apply" is an answer; everywhere else it would hide an unproved claim
bool may_not_apply(const std::string& name, int phase) {
  static constexpr std::array<std::string_view, 4> kAlways{"zero_parameters_perturbed", "every_parameter_compared",
                                                           "masks_vary", "ignore_mask"};
  if (std::ranges::find(kAlways, name) != kAlways.end()) return true;
  return phase == 2 && name.starts_with("gradients_");  // integer features have none
}

bool says(const std::string& value, std::string_view word) {
  return value == word || value.starts_with(std::string(word) + ":");
}

std::string reason_of(const std::string& value) {
  const std::size_t n = value.find(':');
  return n == std::string::npos ? "" : value.substr(std::min(value.size(), value.find_first_not_of(' ', n + 1)));
}

std::optional<double> number(const json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end() || !it->is_number()) return std::nullopt;
  const double v = it->get<double>();
  return std::isfinite(v) ? std::optional(v) : std::nullopt;
}

std::string text(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string judge_measurements(const json& cell, CellJudgement& out) {
  std::string why;
  double worst_ratio = -1;
  const json measurements = cell.value("measurements", json::array());
  if (!measurements.is_array()) return "'measurements' is not a list";
  for (const auto& m : measurements) {
    if (!m.is_object()) return "a measurement is not an object";
    std::string name = text(m, "name");
    if (name.empty()) return "a measurement has no name";
    const auto difference = number(m, "difference"), tolerance = number(m, "tolerance");
    const std::string derivation = text(m, "derivation");
    if (!difference || *difference < 0)
      return fmt::format("not a number: {} has the difference {}", name, m.value("difference", json()).dump());
    if (!tolerance || *tolerance < 0) return fmt::format("no tolerance: {}", name);
    if (*tolerance > 0 && derivation.empty()) return fmt::format("the tolerance of {} has no derivation", name);
    ++out.compared;
    const double ratio = *tolerance > 0 ? *difference / *tolerance : (*difference > 0 ? HUGE_VAL : 0);
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      out.worst = Worst{name, derivation, *difference, *tolerance};
    }
  }
  if (out.worst && out.worst->difference > out.worst->tolerance) {
    const Worst& w = *out.worst;
    why = fmt::format("over tolerance: {} differs by {:.3g}, allowed {:.3g}", w.name, w.difference, w.tolerance);
    if (w.tolerance > 0) why += fmt::format(" ({:.3g} times)", w.difference / w.tolerance);
  }
  return why;
}

std::string judge_facts(const Demands& d, const json& cell, int phase, CellJudgement& out) {
  const json facts = cell.value("facts", json::object());
  if (!facts.is_object()) return "'facts' is not an object";
  for (const auto& name : d.facts) {
    const std::string value = text(facts, name.c_str());
    if (value.empty()) return fmt::format("vacuous: {} is not reported", name);
    if (says(value, "yes")) continue;
    if (value.starts_with("n/a: ") && may_not_apply(name, phase)) {
      out.not_applicable.push_back(name);
      continue;
    }
    if (value.starts_with("n/a")) return fmt::format("vacuous: {} may not be '{}' here", name, value);
    const std::string why = says(value, "no") ? reason_of(value) : "'" + value + "'";
    return fmt::format("vacuous: {}{}", says(value, "no") ? "not " : "", name) + (why.empty() ? "" : " (" + why + ")");
  }
  const json sabotage = cell.value("sabotage", json::object());
  if (!sabotage.is_object()) return "'sabotage' is not an object";
  for (const auto& name : d.sabotage) {
    const std::string value = text(sabotage, name.c_str());
    if (value.empty()) return fmt::format("vacuous: the sabotage {} was not run", name);
    if (says(value, "caught")) continue;
    if (value.starts_with("n/a: ") && may_not_apply(name, phase)) {
      out.not_applicable.push_back(name);
      continue;
    }
    const std::string why = reason_of(value);
    if (says(value, "missed")) return fmt::format("sabotage missed: {}{}", name, why.empty() ? "" : " (" + why + ")");
    return fmt::format("vacuous: the sabotage {} says '{}'", name, value);
  }
  return "";
}

std::string judge_counters(const json& cell) {
  const json counters = cell.value("counters", json::array());
  if (!counters.is_array()) return "'counters' is not a list";
  for (const auto& c : counters) {
    const std::string name = c.is_object() ? text(c, "name") : "";
    if (name.empty()) return "a counter has no name";
    const auto value = number(c, "value");
    if (!value) return fmt::format("not a number: the counter {} is {}", name, c.value("value", json()).dump());
    if (!c.contains("bound")) continue;
    const auto bound = number(c, "bound");
    if (!bound) return fmt::format("not a number: the bound of {} is {}", name, c["bound"].dump());
    if (*value > *bound) {
      return fmt::format("over bound: {} is {:.6g}, allowed {:.6g}{}", name, *value, *bound,
                         *bound > 0 ? fmt::format(" ({:.3g} times)", *value / *bound) : "");
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> accepted_profiles(int phase, const std::string& verb) {
  if (verb == "check") return {};
  static const std::array<Names, 8> table{Names{"map"},     Names{"infra"},     Names{"feature", "block"},
                                          Names{"block"},   Names{"lifecycle"}, Names{"block", "property"},
                                          Names{"profile"}, Names{"bench"}};
  return phase >= 0 && phase < 8 ? table[static_cast<std::size_t>(phase)] : Names{};
}

std::string refuse_profile(int phase, const std::string& verb, const std::string& profile) {
  if (verb == "check") return "";
  const auto accepted = accepted_profiles(phase, verb);
  if (std::ranges::find(accepted, profile) != accepted.end()) return "";
  return fmt::format("vacuous: a task of phase {} needs the facts of '{}', the program reported '{}'", phase,
                     join(accepted, "' or '"), profile);
}

CellJudgement judge_cell(const std::string& profile, int phase, const json& cell) {
  CellJudgement out;
  const auto d = demands().find(profile);
  if (d == demands().end()) {
    out.why = fmt::format("unknown profile '{}'", profile);
    return out;
  }
  if (!cell.is_object()) {
    out.why = "the cell is not an object";
    return out;
  }
  out.why = judge_measurements(cell, out);
  if (out.why.empty() && d->second.measurements && out.compared == 0) out.why = "vacuous: nothing was compared";
  if (out.why.empty()) out.why = judge_facts(d->second, cell, phase, out);
  if (out.why.empty()) out.why = judge_counters(cell);
  out.ok = out.why.empty();
  return out;
}

json parse_measurement(const std::string& raw, std::string& error) {
  std::string s;
  s.reserve(raw.size());
  bool in_string = false;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (in_string) {
      s += c;
      if (c == '\\' && i + 1 < raw.size()) s += raw[++i];
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (std::isalpha(static_cast<unsigned char>(c)) ||
        (c == '-' && i + 1 < raw.size() && std::isalpha(static_cast<unsigned char>(raw[i + 1])))) {
      std::size_t e = i + (c == '-' ? 1 : 0);
      std::string word;
      while (e < raw.size() && std::isalpha(static_cast<unsigned char>(raw[e])))
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(raw[e++])));
      const bool no_number = word == "nan" || word == "inf" || word == "infinity";
      s += no_number ? "null" : raw.substr(i, e - i);
      i = e - 1;
      continue;
    }
    // the e of an exponent belongs to its number
    s += c;
    if (std::isdigit(static_cast<unsigned char>(c)) && i + 1 < raw.size() && (raw[i + 1] == 'e' || raw[i + 1] == 'E'))
      s += raw[++i];
  }
  try {
    return json::parse(s);
  } catch (const json::exception& e) {
    error = e.what();
    return json(json::value_t::discarded);
  }
}

}  // namespace cpize::tool
