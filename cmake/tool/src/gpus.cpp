// cpize gpus: what is here and who holds it; with --take, a command under a lease, for a measurement by hand.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "commands.hpp"
#include "errors.hpp"
#include "slots.hpp"

namespace cpize::tool {

int show_gpus() {
  fmt::print("{}; locks in {}\n", gpus_in_words(), gpu_lock_folder().string());
  for (const auto& line : gpu_holders()) fmt::print("  {}\n", line);
  return kDone;
}

int run_with_gpus(int count, std::vector<std::string> command) {
  if (command.empty()) throw UsageError("gpus --take N needs a command: cpize gpus --take 2 -- ./my_benchmark");
  const GpuLease lease = take_gpus(count, command[0]);
  ::setenv("CUDA_VISIBLE_DEVICES", lease.visible().c_str(), 1);
  std::fflush(stdout);
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());  // the locks stay open in what we become, and in its children
  throw UsageError(fmt::format("cannot run {}: {}", command[0], std::strerror(errno)));
}

}  // namespace cpize::tool
