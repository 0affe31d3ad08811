#include "dashboard.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>

#include "text.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

bool asked_for() {
  const char* value = std::getenv("CPIZE_DASHBOARD");
  return value && *value && std::string_view(value) != "0";
}

void say_number(const std::string& name, double value) {
  if (std::isfinite(value)) {
    fmt::print("<CTestMeasurement type=\"numeric/double\" name=\"{}\">{}</CTestMeasurement>", xml_text(name), value);
  } else {  // not-a-number would be recorded as a number
    fmt::print("<CTestMeasurement type=\"text/string\" name=\"{}\">no number</CTestMeasurement>", xml_text(name));
  }
}

void say_text(const std::string& name, const std::string& value) {
  fmt::print("<CTestMeasurement type=\"text/string\" name=\"{}\">{}</CTestMeasurement>", xml_text(name),
             xml_text(value));
}

// An absent file would become a text measurement that no dashboard's schema knows.
void attach(const std::string& name, const fs::path& file) {
  std::error_code e;
  if (!fs::is_regular_file(file, e)) return;
  fmt::print("<CTestMeasurementFile type=\"file\" name=\"{}\">{}</CTestMeasurementFile>", xml_text(name),
             xml_text(fs::absolute(file).string()));
}

const json* measured(const json& details, const std::string& cell, const char* what) {
  const json::json_pointer path = json::json_pointer("/cells") / cell / "measured" / what;
  const json* found = details.contains(path) ? &details.at(path) : nullptr;
  return found && found->is_array() ? found : nullptr;
}

// A summary of many cells has no room for names; the details have all.
std::string name_of(const Worst& worst, const std::string& cell, const json& details) {
  const json* all = measured(details, cell, "measurements");
  if (!all) return worst.name;
  for (const auto& m : *all) {
    if (m.is_object() && m.value("difference", json()) == worst.difference &&
        m.value("tolerance", json()) == worst.tolerance && m.value("name", json()).is_string())
      return m["name"].get<std::string>();
  }
  return worst.name;
}

// Counters under their own names, so that a dashboard draws them over time: those of the plan's mesh, which every task
// is measured on.
void say_counters(const Plan& plan, const json& details) {
  std::string mesh = std::to_string(plan.dp);
  for (const int c : plan.cp) mesh += fmt::format("x{}", c);
  const std::string wanted = fmt::format("{}/{}/", mesh, plan.backend);
  const json cells = details.value("cells", json::object());
  for (const auto& [name, cell] : cells.items()) {
    const json* counters = name.starts_with(wanted) ? measured(details, name, "counters") : nullptr;
    if (!counters) continue;
    say_text("counters of", name);
    for (const auto& counter : *counters) {
      if (!counter.is_object() || !counter.value("name", json()).is_string()) continue;
      const json value = counter.value("value", json());
      say_number(counter["name"].get<std::string>(), value.is_number() ? value.get<double>() : std::nan(""));
    }
    return;
  }
}

}  // namespace

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // control characters are not XML at all
    }
  }
  return out;
}

void report_to_dashboard(Tree& tree, const std::string& id) {
  if (!asked_for()) return;
  const Plan& plan = tree.plan();
  const std::string key = tree.keys().of(id).id;
  const std::vector<Evidence> all = tree.evidence_for(id, key);
  if (all.empty()) return;
  const json details = tree.store().details(id, key);

  std::optional<Worst> worst;  // the one nearest to, or furthest over, its tolerance
  std::string where;
  std::set<std::string> cells;  // of several machines that measured a cell, this one's figures
  std::size_t compared = 0;
  const auto strain = [](const Worst& w) {
    const double ratio = w.difference / w.tolerance;
    return std::isnan(ratio) ? HUGE_VAL : ratio;
  };
  for (const Evidence& evidence : all) {
    for (const auto& [name, cell] : evidence.cells) {
      if (!cells.insert(name).second) continue;
      compared += static_cast<std::size_t>(cell.judgement.compared);
      if (const auto& w = cell.judgement.worst) {
        say_number("difference " + name, w->difference);
        if (!worst || strain(*w) > strain(*worst)) worst = w, where = name;
      }
    }
  }
  if (worst) {
    say_number("difference", worst->difference);
    say_number("tolerance", worst->tolerance);
    say_text("nearest its tolerance", fmt::format("{} in {}", name_of(*worst, where, details), where));
  }
  say_number("cells", static_cast<double>(cells.size()));
  if (compared > 0) say_number("compared", static_cast<double>(compared));
  say_text("key", key);
  say_counters(plan, details);
  for (const Evidence& evidence : all) {
    const fs::path summary = tree.store().summary_file(id, key, evidence.machine);
    const std::string machine = all.size() > 1 ? " of " + evidence.machine : "";
    attach("evidence" + machine, summary);
    attach("details" + machine, fs::path(summary).replace_extension(".details.json"));
  }
  if (const std::string& artifact = plan.at(id).artifact; !artifact.empty()) attach("artifact", plan.build / artifact);
  fmt::print("\n");  // one line: CTest takes the measurements out of it, and one empty line stays
  std::fflush(stdout);
}

}  // namespace cpize::tool
