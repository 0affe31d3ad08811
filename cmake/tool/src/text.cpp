#include "text.hpp"

#include <algorithm>
#include <ctime>
#include <numeric>

namespace cpize::tool {

std::vector<std::string> split(std::string_view s, char separator) {
  std::vector<std::string> parts;
  while (!s.empty()) {
    const std::size_t n = s.find(separator);
    const std::string_view part = s.substr(0, n);
    if (!part.empty()) parts.emplace_back(part);
    if (n == std::string_view::npos) break;
    s.remove_prefix(n + 1);
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const auto& p : parts) {
    if (!out.empty()) out += separator;
    out += p;
  }
  return out;
}

std::string replace_all(std::string s, std::string_view from, std::string_view to) {
  if (from.empty()) return s;
  for (std::size_t n = 0; (n = s.find(from, n)) != std::string::npos; n += to.size()) s.replace(n, from.size(), to);
  return s;
}

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&t, &parts);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%FT%TZ", &parts);
  return buffer;
}

std::string tail(const std::string& text, int lines, std::size_t bytes) {
  std::size_t end = text.size();
  while (end > 0 && text[end - 1] == '\n') --end;
  std::size_t b = end;
  for (int n = 0; b > 0 && end - b < bytes; --b) {
    if (text[b - 1] == '\n' && ++n == lines) break;
  }
  return text.substr(b, end - b);
}

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& c : candidates) {
    std::vector<std::size_t> row(c.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= c.size(); ++j) {
        const std::size_t up = row[j];
        row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (name[i - 1] == c[j - 1] ? 0 : 1)});
        diagonal = up;
      }
    }
    if (row.back() < least) {
      least = row.back();
      best = c;
    }
  }
  return best;
}

}  // namespace cpize::tool
