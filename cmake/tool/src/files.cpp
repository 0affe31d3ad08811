#include "files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>

#include "code_text.hpp"
#include "errors.hpp"
#include "sha256.hpp"

namespace cpize::tool {
namespace {

// The number moves with the form of a line, and with what code_text() makes of a text: its hashes are remembered.
constexpr std::string_view kHeader = "cpize-files 2\n", kEnd = "end\n";

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail(const char* what, const fs::path& path) {
  throw ToolError(kFailed, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

void write_all(int fd, std::string_view s, const fs::path& path) {
  while (!s.empty()) {
    const ssize_t n = ::write(fd, s.data(), s.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path);
    s.remove_prefix(static_cast<std::size_t>(n));
  }
}

void write_beside(const fs::path& path, std::string_view content, bool flush) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  const fs::path tmp = path.string() + fmt::format(".tmp{}", ::getpid());
  {
    const Fd fd(::open(tmp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd < 0) fail("write", tmp);
    write_all(fd, content, tmp);
    if (flush && ::fsync(fd) != 0) fail("flush", tmp);
  }
  if (::rename(tmp.c_str(), path.c_str()) != 0) fail("rename to", path);
}

std::string identity(const struct stat& st) {
  return fmt::format("{} {}.{} {}.{} {}", st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_ctim.tv_sec,
                     st.st_ctim.tv_nsec, st.st_ino);
}

}  // namespace

std::optional<std::string> read_file(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return std::nullopt;
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  std::string s;
  s.reserve(static_cast<std::size_t>(st.st_size) + 1);
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t n = ::read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return s;
    s.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

void write_atomically(const fs::path& path, std::string_view content) { write_beside(path, content, true); }

void append_line(const fs::path& path, std::string_view line) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  const Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (fd < 0) fail("open", path);
  struct stat st {};
  char last = '\n';
  if (::fstat(fd, &st) == 0 && st.st_size > 0 && ::pread(fd, &last, 1, st.st_size - 1) != 1) last = '\n';
  write_all(fd, fmt::format("{}{}\n", last == '\n' ? "" : "\n", line), path);
  if (::fsync(fd) != 0) fail("flush", path);
}

FileCache::FileCache(fs::path cache_file) : cache_file_(std::move(cache_file)) { load(); }

FileCache::~FileCache() {
  try {
    save();
  } catch (const std::exception&) {  // a cache that cannot be written costs time, nothing else
  }
}

// One line a file: path, identity, the two hashes, then an entry "<kind><line> <name>" for each #include, all separated
// by tabs.
void FileCache::load() {
  auto text = read_file(cache_file_);
  if (!text || !text->starts_with(kHeader) || !text->ends_with(kEnd)) return;
  text_ = std::move(*text);
  std::string_view rest(text_);
  rest.remove_prefix(kHeader.size());
  while (!rest.empty()) {
    const std::size_t n = rest.find('\n');
    const std::string_view line = rest.substr(0, n);
    rest.remove_prefix(std::min(rest.size(), n + 1));
    const std::size_t tab = line.find('\t');
    if (tab != std::string_view::npos) old_.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
}

namespace {

std::optional<FileFacts> parse_facts(std::string_view line, const std::string& id) {
  if (!line.starts_with(id) || line.size() < id.size() + 130 || line[id.size()] != '\t') return std::nullopt;
  line.remove_prefix(id.size() + 1);
  FileFacts facts{std::string(line.substr(0, 64)), std::string(line.substr(65, 64)), {}};
  line.remove_prefix(129);
  while (!line.empty()) {
    line.remove_prefix(1);  // the tab
    const std::size_t n = std::min(line.find('\t'), line.size());
    const std::string_view entry = line.substr(0, n);
    const std::size_t space = entry.find(' ');
    if (entry.size() < 3 || space == std::string_view::npos) return std::nullopt;
    Include inc{std::string(entry.substr(space + 1)), static_cast<Include::Kind>(entry[0]), 0};
    std::from_chars(entry.data() + 1, entry.data() + space, inc.line);
    facts.includes.push_back(std::move(inc));
    line.remove_prefix(n);
  }
  return facts;
}

}  // namespace

const FileFacts* FileCache::get(const std::string& path) {
  if (const auto it = seen_.find(path); it != seen_.end()) return it->second ? &*it->second : nullptr;
  auto& slot = seen_[path];
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return nullptr;
  const std::string id = identity(st);
  if (const auto it = fresh_.find(path); it != fresh_.end() && it->second.id == id) {
    slot = it->second.facts;
    return &*slot;
  }
  if (const auto it = old_.find(path); it != old_.end()) {
    if ((slot = parse_facts(it->second, id))) return &*slot;
  }
  const auto text = read_file(path);
  if (!text) return nullptr;
  ++hashed_;
  slot = FileFacts{sha256(*text), {}, is_code(path) ? scan_includes(*text) : std::vector<Include>{}};
  slot->code = is_named_as_code(path) ? sha256(code_text(*text)) : slot->sha256;
  struct stat after {};
  const bool steady = ::stat(path.c_str(), &after) == 0 && identity(after) == id;
  const auto newest = std::max(st.st_mtim.tv_sec, st.st_ctim.tv_sec);
  if (steady && std::time(nullptr) - newest > 2) fresh_[path] = {id, *slot};
  return &*slot;
}

void FileCache::save() {
  if (fresh_.empty()) return;
  std::string out(kHeader);
  for (const auto& [path, r] : fresh_) {
    std::string line = fmt::format("{}\t{}\t{}\t{}", path, r.id, r.facts.sha256, r.facts.code);
    bool plain = path.find_first_of("\t\n") == std::string::npos;
    for (const auto& i : r.facts.includes) {
      line += fmt::format("\t{}{} {}", static_cast<char>(i.kind), i.line, i.name);
      plain = plain && i.name.find_first_of("\t\n") == std::string::npos;
    }
    if (plain) out += line + "\n";
  }
  for (const auto& [path, rest] : old_) {
    if (!fresh_.contains(std::string(path))) out += fmt::format("{}\t{}\n", path, rest);
  }
  out += kEnd;
  write_beside(cache_file_, out, false);
  old_.clear();
  fresh_.clear();
  seen_.clear();
  text_ = std::move(out);
  load();
}

}  // namespace cpize::tool
