#include "parity/harness/artifact.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "error/error.hpp"

namespace cpize::parity {

void write_text_file(const std::string& path, const std::string& text) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // a folder that cannot be made shows as a file that cannot be written
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(temporary, path, failed);
  if (!out || failed) {
    std::filesystem::remove(temporary, ignored);
    throw InputError(path, "cannot be written");
  }
}

void write_artifact(const Request& request, const std::string& text) {
  if (request.artifact.empty())
    std::cout << text;
  else
    write_text_file(request.artifact, text);
}

}  // namespace cpize::parity
