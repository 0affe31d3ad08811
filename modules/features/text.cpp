#include "features/text.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "error/error.hpp"

namespace cpize::features {

namespace {

std::string normalise_line_ends(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\r') {
      text += raw[i];
    } else if (i + 1 == raw.size() || raw[i + 1] != '\n') {
      text += '\n';
    }
  }
  return text;
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

std::string read_text_file(const std::string& path, NulBytes nul_bytes) {
  std::error_code status;
  if (!std::filesystem::exists(path, status)) throw InputError(path, "no such file");
  if (std::filesystem::is_directory(path, status)) throw InputError(path, "is a directory, expected a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(path, std::string("cannot be opened: ") + std::strerror(errno));
  std::ostringstream buffer;
  buffer << stream.rdbuf();
  if (stream.bad()) throw InputError(path, "a read error occurred");
  const std::string raw = buffer.str();
  std::string_view content = raw;
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
  if (content.starts_with("\xFF\xFE") || content.starts_with("\xFE\xFF")) {
    throw InputError(path, "is UTF-16 text; save it as UTF-8");
  }
  if (content.starts_with("\x1F\x8B")) throw InputError(path, "is gzip-compressed; decompress it first");
  if (const size_t nul = content.find('\0'); nul != std::string_view::npos && nul_bytes == NulBytes::error) {
    const auto line = 1 + std::count(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    throw InputError(path + ":" + std::to_string(line), "holds a NUL byte; expected a text file");
  }
  std::string text = normalise_line_ends(content);
  if (text.find_first_not_of(std::string_view(" \t\n\0", 4)) == std::string::npos) throw InputError(path, "is empty");
  return text;
}

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({text.substr(begin, end - begin), static_cast<int>(lines.size()) + 1});
    begin = end + 1;
  }
  return lines;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int replace = d[i - 1][j - 1] + (lower(a[i - 1]) != lower(b[j - 1]) ? 1 : 0);
      d[i][j] = std::min({replace, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = static_cast<int>(name.size() + 1) / 2 + 1;
  for (const auto& candidate : candidates) {
    if (const int distance = edit_distance(name, candidate); distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

std::string to_upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return result;
}

std::string_view strip(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string result;
  for (size_t i = 0; i < parts.size(); ++i) result += (i > 0 ? separator : "") + parts[i];
  return result;
}

}  // namespace cpize::features
