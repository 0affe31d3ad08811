// AtomicFolder: a folder that appears under its name with all its files or not at all.
#pragma once
#include <filesystem>
#include <string>

namespace cpize::lifecycle {

/// Files are written into `<final>.tmp-<pid>`; commit() syncs it and renames it over `final`. A reader, or a crash at
/// any moment, sees the old folder or the new one. Where the file system cannot exchange two folders in one step, a
/// crash between two renames leaves the old one as `<final>.old-<pid>` and nothing under `final`: never a mixture.
class AtomicFolder {
 public:
  /// Makes the temporary folder, and the folders above it. ResourceError with the system's reason.
  explicit AtomicFolder(std::filesystem::path final);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  /// Removes the temporary folder unless it was committed.
  ~AtomicFolder();

  /// Where to write.
  const std::filesystem::path& path() const { return temporary_; }
  /// ResourceError with the system's reason; `final` is then as it was.
  void commit();

  /// Is this the name of a temporary or replaced folder, which a killed writer may leave behind?
  static bool is_leftover(const std::filesystem::path& folder);

 private:
  std::filesystem::path final_, temporary_;
  bool committed_ = false;
};

/// Writes and syncs a file. ResourceError with the system's reason.
void write_synced(const std::filesystem::path& file, const std::string& text);

}  // namespace cpize::lifecycle
