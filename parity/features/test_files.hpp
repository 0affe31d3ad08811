// Test inputs: committed files, edited copies of them, and messages of expected errors.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "error/error.hpp"

namespace cpize::features {

// Appended, not added: g++ 12 warns falsely about the sum of a temporary string and a literal.
inline std::string path_below(std::string directory, const std::string& name) {
  directory.append("/").append(name);
  return directory;
}
inline std::string data_file(const std::string& name) { return path_below(CPIZE_PARITY_DATA, name); }
inline std::string case_file(const std::string& name) { return path_below(CPIZE_PARITY_CASES, name); }

inline std::string slurp(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

/// A file that lives as long as this object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content) {
    static int count = 0;
    directory_ = std::filesystem::temp_directory_path() /
                 ("cpize_features_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(directory_);
    path_ = (directory_ / name).string();
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove_all(directory_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path directory_;
  std::string path_;
};

/// `text` with every `from` replaced; at least one must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "nothing to replace: " << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

/// The message of the InputError that `action` must throw; fails the test if it throws nothing or something else.
inline std::string input_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an InputError: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
}

inline bool any_contains(const std::vector<std::string>& messages, const std::string& part) {
  for (const auto& message : messages) {
    if (message.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace cpize::features
