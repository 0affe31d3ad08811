// Names no torch symbol, links CPize::libtorch, and lists which of its libraries were loaded all the same.
#include <link.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

int note_library(dl_phdr_info* library, std::size_t, void* names) {
  static_cast<std::string*>(names)->append(library->dlpi_name).append("\n");
  return 0;
}

}  // namespace

int main() {
  std::string loaded;
  dl_iterate_phdr(note_library, &loaded);
  for (const std::string_view wanted : {"libtorch_cpu.so", "libc10.so"}) {
    if (loaded.find(wanted) == std::string::npos) {
      std::printf("not loaded: %s\nloaded:\n%s", wanted.data(), loaded.c_str());
      return 1;
    }
  }
  return 0;
}
