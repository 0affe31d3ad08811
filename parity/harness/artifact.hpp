// write_artifact: the document that a task owes, written whole or not at all.
#pragma once
#include <string>

#include "parity/harness/request.hpp"

namespace cpize::parity {

/// A temporary file beside `path`, then a rename; folders are made. Throws InputError where it cannot be written.
void write_text_file(const std::string& path, const std::string& text);

/// To request.artifact; by hand, where there is none, to standard output.
void write_artifact(const Request& request, const std::string& text);

}  // namespace cpize::parity
