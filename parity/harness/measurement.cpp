#include "parity/harness/measurement.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "parity/harness/artifact.hpp"

namespace cpize::parity {
namespace {

using nlohmann::json;

json to_json(const Cell& cell) {
  json measurements = json::array(), counters = json::array();
  for (const auto& d : cell.differences())
    measurements.push_back(
        {{"name", d.name}, {"difference", d.difference}, {"tolerance", d.tolerance}, {"derivation", d.derivation}});
  for (const auto& c : cell.counters()) {
    json one{{"name", c.name}, {"value", c.value}};
    if (c.bound) one["bound"] = *c.bound;
    counters.push_back(one);
  }
  return {
      {"measurements", measurements}, {"counters", counters}, {"facts", cell.facts()}, {"sabotage", cell.sabotages()}};
}

}  // namespace

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string yes() { return "yes"; }
std::string no(const std::string& reason) { return "no: " + reason; }
std::string not_applicable(const std::string& reason) { return "n/a: " + reason; }
std::string fact_unless(const std::string& reason_against) {
  return reason_against.empty() ? yes() : no(reason_against);
}
std::string caught_or_missed(bool caught, const std::string& what) { return caught ? "caught" : "missed: " + what; }

std::vector<std::string> Cell::problems() const {
  std::vector<std::string> lines;
  for (const auto& d : differences_)
    if (!(d.difference <= d.tolerance))
      lines.push_back("over tolerance: " + d.name + " differs by " + number(d.difference) + ", allowed " +
                      number(d.tolerance) + " = " + d.derivation);
  for (const auto& [name, value] : facts_)
    if (value.starts_with("no")) lines.push_back("not " + name + value.substr(2));
  for (const auto& [name, value] : sabotage_)
    if (value.starts_with("missed")) lines.push_back("sabotage " + name + " " + value);
  for (const auto& c : counters_)
    if (c.bound && !(c.value <= *c.bound))
      lines.push_back("over bound: " + c.name + " is " + number(c.value) + ", allowed " + number(*c.bound));
  return lines;
}

void Measurement::detail(const std::string& name, const std::string& text) {
  details_[name] = nlohmann::json(text).dump();
}

std::string Measurement::json() const {
  nlohmann::json cells = nlohmann::json::object(), details = nlohmann::json::object();
  for (const auto& [name, cell] : cells_) cells[name] = to_json(cell);
  for (const auto& [name, text] : details_) details[name] = nlohmann::json::parse(text);
  nlohmann::json environment = environment_;
  environment["compiler"] = "g++ " __VERSION__;
  const nlohmann::json all{
      {"schema", 1}, {"profile", profile_}, {"cells", cells}, {"environment", environment}, {"details", details}};
  return all.dump(1) + "\n";
}

void Measurement::write(const std::string& path) const { write_text_file(path, json()); }

}  // namespace cpize::parity
