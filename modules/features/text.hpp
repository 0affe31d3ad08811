// Text helpers of the readers: whole files with line ends and byte-order mark normalised, nearest known name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cpize::features {

enum class NulBytes { error, keep };

/// The content of a text file: UTF-8 byte-order mark removed, CRLF and lone CR turned into LF (line numbers stay true).
/// @throws InputError if the file is absent, is a directory, cannot be read, is empty, or holds NUL bytes (`keep`:
/// the caller deals with them).
std::string read_text_file(const std::string& path, NulBytes nul_bytes = NulBytes::error);

/// One line of a text, with its number from 1.
struct Line {
  std::string text;
  int number = 0;
};
std::vector<Line> lines_of(const std::string& text);

/// Edit distance (insert, delete, replace, swap of neighbours), letters compared without case.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name` (first of equals), or "" if none is within half of the name's length.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" or "" if nothing is near.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
/// Spaces and tabs removed at both ends.
std::string_view strip(std::string_view text);
/// "a, b, c".
std::string join(const std::vector<std::string>& parts, const std::string& separator = ", ");

}  // namespace cpize::features
