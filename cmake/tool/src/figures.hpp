// The figures that a task's green evidence holds: what a report shows of it.
#pragma once
#include <string>
#include <vector>

#include "tree.hpp"

namespace cpize::tool {

/// A number with the place where it was measured.
struct Figure {
  double value = 0;
  std::string task, cell, name;
  bool known() const { return !task.empty(); }
};

/// A difference and what is allowed.
struct Margin {
  double difference = 0, tolerance = 0;
  std::string task, cell, name;
  bool known() const { return !task.empty(); }
  double share() const { return tolerance > 0 ? difference / tolerance : 0; }
};

struct Figures {
  Margin worst;               // the comparison nearest to its tolerance
  Figure sent, peak, tokens;  // the largest "sent_bytes..", "peak_bytes..", "tokens_per_s.." that is not serial's
  void add(const Figures& other);
};

/// Of the task's green cells: margins from the summaries, counters from their details, on whatever machine they were
/// measured.
Figures figures_of(Tree& tree, const std::string& task);

/// "1.4 GiB", "12 KiB"
std::string bytes_in_words(double bytes);

}  // namespace cpize::tool
