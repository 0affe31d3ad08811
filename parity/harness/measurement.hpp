// Measurement: what a proving program hands to the `cpize` tool, as JSON. The program measures; the tool alone judges.
//
//   Measurement m("bench");
//   m.cell("1x2x2/threads/fp64/cpu").counter("tokens_per_s", 812.0);
//   m.cell("1x2x2/threads/fp64/cpu").fact("measured_nonempty", yes());
//   m.write(path);
//
// Profiles and the facts that the tool demands of each: docs/evidence.md. No torch in here.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cpize::parity {

/// A value in three digits, as messages show it.
std::string number(double value);
/// The value of a fact: "yes", "no: <reason>" or "n/a: <reason>".
std::string yes();
std::string no(const std::string& reason);
std::string not_applicable(const std::string& reason);
/// yes() where `reason_against` is empty, else no(reason_against).
std::string fact_unless(const std::string& reason_against);
/// "caught", or "missed: <what went unnoticed>". Also the values of a sabotage.
std::string caught_or_missed(bool caught, const std::string& what);

struct Difference {
  std::string name;
  double difference = 0, tolerance = 0;  // the same unit; a NaN is written as null and judged as no number
  std::string derivation;                // where the tolerance comes from; may be empty only where it is 0
};

struct Counter {
  std::string name;
  double value = 0;
  std::optional<double> bound;  // value > bound is red
};

class Cell {
 public:
  void difference(Difference d) { differences_.push_back(std::move(d)); }
  void counter(const std::string& name, double value, std::optional<double> bound = {}) {
    counters_.push_back({name, value, bound});
  }
  void fact(const std::string& name, const std::string& value) { facts_[name] = value; }
  void sabotage(const std::string& name, const std::string& value) { sabotage_[name] = value; }

  const std::vector<Difference>& differences() const { return differences_; }
  const std::vector<Counter>& counters() const { return counters_; }
  const std::map<std::string, std::string>& facts() const { return facts_; }
  const std::map<std::string, std::string>& sabotages() const { return sabotage_; }

  /// Everything that is plainly wrong in this cell, a line each. For people who run a case by hand; whether a cell is
  /// green is for the tool to say, which also knows what must be present.
  std::vector<std::string> problems() const;

 private:
  std::vector<Difference> differences_;
  std::vector<Counter> counters_;
  std::map<std::string, std::string> facts_, sabotage_;
};

class Measurement {
 public:
  /// profile: block, feature, lifecycle, property, profile, bench, map or infra.
  explicit Measurement(std::string profile) : profile_(std::move(profile)) {}

  /// The cell of that name ("1x2x3/threads/fp64/cpu"), made on first use.
  Cell& cell(const std::string& name) { return cells_[name]; }
  const std::map<std::string, Cell>& cells() const { return cells_; }
  const std::string& profile() const { return profile_; }

  /// A free fact about the machine or the build. The compiler is there from the start.
  void environment(const std::string& name, const std::string& value) { environment_[name] = value; }
  /// Anything worth keeping beside the judged summary: text, or JSON text as it is.
  void detail(const std::string& name, const std::string& text);
  void detail_json(const std::string& name, const std::string& json) { details_[name] = json; }

  std::string json() const;
  /// Atomic: a temporary file beside `path`, then a rename. Throws InputError where it cannot be written.
  void write(const std::string& path) const;

 private:
  std::string profile_;
  std::map<std::string, Cell> cells_;
  std::map<std::string, std::string> environment_, details_;  // details_: JSON text
};

}  // namespace cpize::parity
