#include "figures.hpp"

#include <fmt/core.h>

#include <cmath>

#include "text.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

void keep_larger(Figure& a, const Figure& b) {
  if (b.known() && (!a.known() || b.value > a.value)) a = b;
}

// the details of a machine's evidence: in the store, or in what travels with the sources
json details_of(Tree& tree, const std::string& id, const std::string& machine) {
  const std::string key = tree.keys().of(id).id;
  fs::path file = tree.store().summary_file(id, key, machine);
  file.replace_extension(".details.json");
  json j = json::parse(read_file(file).value_or(""), nullptr, false);
  if (j.is_object()) return j;
  const fs::path& collected = tree.plan().collected_evidence;
  if (collected.empty()) return json::object();
  for (const auto& line : split(read_file(collected / fmt::format("details.{}.jsonl", machine)).value_or(""))) {
    j = json::parse(line, nullptr, false);
    if (j.is_object() && j.value("task", std::string()) == id && j.value("key", std::string()) == key) return j;
  }
  return json::object();
}

// the summary of many cells has no room for names; the details have all
std::string name_of(const Worst& worst, const json& measured) {
  if (!worst.name.empty() || !measured.is_object()) return worst.name;
  for (const auto& m : measured.value("measurements", json::array())) {
    if (m.value("difference", json()) == worst.difference && m.value("tolerance", json()) == worst.tolerance)
      return m.value("name", std::string());
  }
  return "";
}

// "sent_bytes.forward" is the port's, "serial.sent_bytes" and "peak_bytes.serial" are what it is compared with
bool is_ports(const std::string& name, std::string_view head) {
  return name.starts_with(head) && name.find("serial") == std::string::npos;
}

}  // namespace

void Figures::add(const Figures& other) {
  if (other.worst.known() && (!worst.known() || other.worst.share() > worst.share())) worst = other.worst;
  keep_larger(sent, other.sent);
  keep_larger(peak, other.peak);
  keep_larger(tokens, other.tokens);
}

Figures figures_of(Tree& tree, const std::string& id) {
  Figures out;
  std::map<std::string, json> details;  // by machine
  for (const auto& [name, cell] : tree.own(id).cells) {
    const std::string& machine = cell.run.machine;
    if (!details.contains(machine)) details[machine] = details_of(tree, id, machine);
    const json measured =
        details[machine].value("cells", json::object()).value(name, json::object()).value("measured", json());
    if (const auto& w = cell.judgement.worst) {
      const Margin m{w->difference, w->tolerance, id, name, name_of(*w, measured)};
      if (!out.worst.known() || m.share() > out.worst.share()) out.worst = m;
    }
    if (!measured.is_object() || !measured.contains("counters")) continue;
    for (const auto& c : measured["counters"]) {
      const std::string counter = c.value("name", std::string());
      const json value = c.value("value", json());
      if (!value.is_number() || !std::isfinite(value.get<double>())) continue;
      const Figure f{value.get<double>(), id, name, counter};
      if (is_ports(counter, "sent_bytes")) keep_larger(out.sent, f);
      if (is_ports(counter, "peak_bytes")) keep_larger(out.peak, f);
      if (is_ports(counter, "tokens_per_s")) keep_larger(out.tokens, f);
    }
  }
  return out;
}

std::string bytes_in_words(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 && *unit != 'B' ? 1 : 0, unit);
}

}  // namespace cpize::tool
