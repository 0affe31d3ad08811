// Reading and atomically writing files, and their content hashes, remembered between runs.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "include_scan.hpp"

namespace cpize::tool {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const fs::path& path);

/// Written beside, flushed to disk, renamed over: a reader, or a kill at any moment, sees the old file or the new one.
void write_atomically(const fs::path& path, std::string_view content);

/// One line, one write, at the end of the file, flushed to disk. A last line that was cut off stays a line of its own.
void append_line(const fs::path& path, std::string_view line);

struct FileFacts {
  std::string sha256;             // of the bytes
  std::string code;               // of a file named as code: the hash of its code_text(); of other files: sha256
  std::vector<Include> includes;  // of code; empty for other files
};

/// Content hashes and #include lines by path. They are remembered in `cache_file` under (path, size, mtime, ctime,
/// inode); a file that changed in the last two seconds is not remembered, since its clock may not tick on the next
/// edit.
class FileCache {
 public:
  explicit FileCache(fs::path cache_file);
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  /// nullptr if `path` is no regular file. Stable until forget().
  const FileFacts* get(const std::string& path);
  /// Looks at the file system again from now on.
  void forget() { seen_.clear(); }
  void save();
  int hashed() const { return hashed_; }

 private:
  struct Remembered {
    std::string id;
    FileFacts facts;
  };
  void load();

  fs::path cache_file_;
  std::string text_;                                            // the cache file, which old_ points into
  std::unordered_map<std::string_view, std::string_view> old_;  // path -> rest of its line
  std::unordered_map<std::string, Remembered> fresh_;           // learnt by this process
  std::unordered_map<std::string, std::optional<FileFacts>> seen_;
  int hashed_ = 0;
};

}  // namespace cpize::tool
