// Runs one golden case through its serial block and compares outputs, input gradients and parameter gradients.
#pragma once
#include <string>
#include <vector>

#include "parity/serial/golden_case.hpp"

namespace cpize::parity {

/// One compared tensor (or the padded part of one). `difference` is the golden measure: max |a-b| / (|b| + 1e-3 max|b|
/// + 1e-5).
struct GoldenComparison {
  std::string name;
  double difference = 0;
  double tolerance = 0;
  bool passed() const { return difference <= tolerance; }  // false for NaN
};

struct GoldenResult {
  std::vector<GoldenComparison> comparisons;
  std::vector<std::string> problems;  // what is wrong beside the numbers: names, order, shapes, ignored inputs

  bool passed() const;
  /// The comparison nearest to (or farthest beyond) its tolerance.
  const GoldenComparison& worst() const;
  /// One line for each failed comparison and problem; empty when passed.
  std::string failures() const;
};

/// Throws InputError when the file is not the indexed one or lacks something, NotImplemented for an unknown operation.
GoldenResult check_golden(const GoldenCase& golden);

}  // namespace cpize::parity
