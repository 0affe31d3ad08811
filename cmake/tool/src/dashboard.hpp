// What a dashboard learns from a test's output: named measurements and attached files, in the form that CTest reads.
#pragma once
#include <string>

#include "tree.hpp"

namespace cpize::tool {

/// In a dashboard run (CPIZE_DASHBOARD is set and not 0) prints the task's evidence for its present key, green or red:
/// differences and tolerances, counters (bytes, peak, tokens/s), the evidence and its details, the artifact. CTest
/// takes the lines out of the output again. Elsewhere, and without evidence, nothing is printed.
void report_to_dashboard(Tree& tree, const std::string& task);

/// Text inside an XML element or attribute: CTest drops a measurement with a raw '<' or '&' without a word.
std::string xml_text(const std::string& text);

}  // namespace cpize::tool
