#include "slots.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "errors.hpp"
#include "files.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

struct Gpu {
  std::string address, uuid;  // the driver's folder, sorted: the order of the PCI bus, which CUDA's numbers follow
};

struct Slot {
  int id;            // what CUDA_VISIBLE_DEVICES calls it here
  std::string lock;  // its lock file's name, the same in every job of this machine
};

struct Slots {
  std::vector<Slot> slots;
  std::size_t machine = 0;  // GPUs of the machine
  std::string limit;        // what made them fewer
};

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<int> number(std::string_view s) {
  int n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  return error == std::errc() && end == s.data() + s.size() && n >= 0 ? std::optional(n) : std::nullopt;
}

std::vector<Gpu> machine_gpus() {
  std::vector<Gpu> gpus;
  std::error_code e;
  for (const auto& d : fs::directory_iterator(variable("CPIZE_GPUS_DIR").value_or("/proc/driver/nvidia/gpus"), e)) {
    Gpu gpu{d.path().filename().string(), ""};
    std::ifstream information(d.path() / "information");
    for (std::string line; std::getline(information, line);) {
      if (line.starts_with("GPU UUID:"))
        gpu.uuid = line.substr(std::min(line.find_first_not_of(" \t", 9), line.size()));
    }
    gpus.push_back(std::move(gpu));
  }
  std::ranges::sort(gpus, {}, &Gpu::address);
  return gpus;
}

// CUDA reads its list up to the first entry that names no GPU; an entry is a number or the beginning of a UUID
std::vector<int> read_cuda_list(const std::string& list, const std::vector<Gpu>& gpus) {
  std::vector<int> ids;
  for (const auto& entry : split(list, ',')) {
    auto id = number(entry);
    if (!id && entry.starts_with("GPU-")) {
      const auto gpu = std::ranges::find_if(gpus, [&](const Gpu& g) { return g.uuid.starts_with(entry); });
      if (gpu != gpus.end()) id = static_cast<int>(gpu - gpus.begin());
    }
    if (!id || *id >= static_cast<int>(gpus.size())) break;
    ids.push_back(*id);
  }
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

// SLURM's list of the job's GPUs by the machine's numbers: "2,3" or "4-7"
std::vector<int> read_slurm_list(const std::string& list) {
  std::vector<int> ids;
  for (const auto& entry : split(list, ',')) {
    const std::size_t dash = entry.find('-');
    const auto first = number(std::string_view(entry).substr(0, dash));
    const auto last = dash == std::string::npos ? first : number(std::string_view(entry).substr(dash + 1));
    if (!first || !last) break;
    for (int id = *first; id <= *last; ++id) ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

bool contains_all(const std::vector<int>& all, const std::vector<int>& some) {
  return std::ranges::all_of(some, [&](int id) { return std::ranges::find(all, id) != all.end(); });
}

Slots visible_slots() {
  const std::vector<Gpu> gpus = machine_gpus();
  Slots out;
  out.machine = gpus.size();
  std::vector<int> ids(gpus.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>(i);
  std::vector<int> machine = ids;  // the machine's number of each

  const auto cuda = variable("CUDA_VISIBLE_DEVICES");
  if (cuda) {
    machine = ids = read_cuda_list(*cuda, gpus);
    out.limit = fmt::format("CUDA_VISIBLE_DEVICES={}", *cuda);
  }
  if (variable("SLURM_JOB_ID")) {
    auto given = variable("SLURM_STEP_GPUS");
    if (!given) given = variable("SLURM_JOB_GPUS");
    const std::vector<int> job = read_slurm_list(given.value_or(""));
    if (!cuda) {
      machine = ids = job;
      out.limit = "SLURM gave the job " + (job.empty() ? "none" : *given);
    } else if (given && ids.size() == job.size()) {
      machine = job;  // a job in a container of its own counts from 0
    } else if (given && !contains_all(job, ids)) {
      for (auto& m : machine) m = m < static_cast<int>(job.size()) ? job[static_cast<std::size_t>(m)] : m;
    }
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto m = static_cast<std::size_t>(machine[i]);
    out.slots.push_back({ids[i], (m < gpus.size() ? gpus[m].address : std::to_string(m)) + ".lock"});
  }
  return out;
}

// CTest counts, which of the GPUs is ours to decide: its ids bound one ctest only. COUNT alone says that there is an
// allocation; a nested ctest inherits the other variables.
std::optional<int> ctest_count() {
  const auto count = variable("CTEST_RESOURCE_GROUP_COUNT");
  return count ? number(*count) : std::nullopt;
}

std::unique_ptr<Lock> open_lock(const std::string& name, bool inherited) {
  return std::make_unique<Lock>(gpu_lock_folder() / name, inherited);
}

void make_folder() {
  const fs::path folder = gpu_lock_folder();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw ToolError(kFailed,
                    fmt::format("cannot make the folder of GPU locks {}: {}", folder.string(), std::strerror(errno)));
  }
  struct stat s {};
  if (::stat(folder.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || s.st_uid != ::getuid()) {
    throw ToolError(kFailed, fmt::format("{} is not a folder of ours: remove it, or name another with CPIZE_GPU_LOCKS",
                                         folder.string()));
  }
}

/// Begin and length of the free run that fits best, as positions; neighbours are neighbours in `slots`.
std::optional<std::size_t> best_gap(const std::vector<std::unique_ptr<Lock>>& free, std::size_t count) {
  std::optional<std::size_t> best;
  std::size_t best_length = free.size() + 1;
  for (std::size_t begin = 0; begin < free.size();) {
    std::size_t end = begin;
    while (end < free.size() && free[end]) ++end;
    if (end - begin >= count && end - begin < best_length) best = begin, best_length = end - begin;
    begin = end + 1;
  }
  return best;
}

// free GPUs are locked for the moment of choosing; nobody else chooses meanwhile
std::vector<std::unique_ptr<Lock>> try_all(const std::vector<Slot>& slots) {
  std::vector<std::unique_ptr<Lock>> locks;
  for (const auto& s : slots) {
    auto lock = open_lock(s.lock, true);
    locks.push_back(lock->try_take() ? std::move(lock) : nullptr);
  }
  return locks;
}

std::string holder(const Slot& slot) {
  const auto text = read_file(gpu_lock_folder() / slot.lock);
  return text && !text->empty() ? text->substr(0, text->find('\n')) : "another process";
}

void say_waiting(const std::string& who, int count, const std::vector<Slot>& slots,
                 const std::vector<std::unique_ptr<Lock>>& free) {
  std::string busy;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!free[i]) busy += fmt::format("{} {} by {}", busy.empty() ? "" : ",", slots[i].id, holder(slots[i]));
  }
  fmt::print("{}: waiting for {} GPU{}; held:{}\n", who, count, count == 1 ? "" : "s", busy);
  std::fflush(stdout);
}

}  // namespace

int gpus_here() {
  const int visible = static_cast<int>(visible_slots().slots.size());
  return std::min(visible, ctest_count().value_or(visible));
}

std::string gpus_in_words() {
  const Slots s = visible_slots();
  const int here = gpus_here();
  std::string limit = s.limit;
  if (here < static_cast<int>(s.slots.size())) {
    limit += fmt::format("{}CTest gave the test {}", limit.empty() ? "" : "; ", here);
  }
  std::string text = fmt::format("{} GPU{}", here, here == 1 ? "" : "s");
  if (!limit.empty()) text += fmt::format(" (of {}; {})", s.machine, limit);
  return text;
}

int ranks_per_gpu() {
  const auto text = variable("CPIZE_RANKS_PER_GPU");
  if (!text || text->empty()) return 1;
  int ranks = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), ranks);
  if (error != std::errc() || end != text->data() + text->size() || ranks < 1 || ranks > 64)
    throw UsageError(fmt::format("CPIZE_RANKS_PER_GPU={} is no number from 1 to 64", *text));
  return ranks;
}

int gpus_for(int ranks) { return (ranks + ranks_per_gpu() - 1) / ranks_per_gpu(); }

fs::path gpu_lock_folder() {
  if (const auto folder = variable("CPIZE_GPU_LOCKS"); folder && !folder->empty()) return *folder;
  return fmt::format("/tmp/cpize-gpus-{}", ::getuid());
}

std::vector<std::string> gpu_holders() {
  std::vector<std::string> out;
  const Slots s = visible_slots();
  if (s.slots.empty()) return out;
  make_folder();
  const auto queue = open_lock("queue.lock", false);
  const bool alone = queue->try_take();  // otherwise somebody tries the locks at this moment, or waits for one
  for (const auto& slot : s.slots) {
    const auto lock = open_lock(slot.lock, false);
    const bool free = lock->try_take();
    out.push_back(fmt::format("GPU {}: {}", slot.id, free ? "free" : "held by " + holder(slot)));
  }
  if (!alone) out.emplace_back("a request is being served or waits");
  return out;
}

std::string GpuLease::visible() const {
  std::string list;
  for (const int id : ids_) list += fmt::format("{}{}", list.empty() ? "" : ",", id);
  return list;
}

GpuLease take_gpus(int count, const std::string& who) {
  GpuLease lease;
  if (count <= 0) return lease;
  const Slots here = visible_slots();
  if (count > gpus_here()) {
    throw Blocker(fmt::format("{} needs {} GPU{}, and there {} {}", who, count, count == 1 ? "" : "s",
                              gpus_here() == 1 ? "is" : "are", gpus_in_words()));
  }
  make_folder();
  const auto queue = open_lock("queue.lock", false);
  if (!queue->try_take()) {  // held for milliseconds, or by one who waits: then we come after it
    bool taken = false;
    for (int i = 0; i < 10 && !taken; ++i) {
      ::usleep(20000);
      taken = queue->try_take();
    }
    if (!taken) {
      fmt::print("{}: waiting for {} GPU{} behind another request\n", who, count, count == 1 ? "" : "s");
      std::fflush(stdout);
      queue->take();
    }
  }
  for (bool said = false;; said = true) {
    auto locks = try_all(here.slots);
    if (const auto begin = best_gap(locks, static_cast<std::size_t>(count))) {
      for (std::size_t i = *begin; i < *begin + static_cast<std::size_t>(count); ++i) {
        lease.ids_.push_back(here.slots[i].id);
        std::ofstream(gpu_lock_folder() / here.slots[i].lock) << fmt::format("{} (process {})\n", who, ::getpid());
        lease.locks_.push_back(std::move(locks[i]));
      }
      return lease;
    }
    if (!said) say_waiting(who, count, here.slots, locks);
    locks.clear();
    ::usleep(50000);
  }
}

GpuLease take_gpus(const Plan& plan, int count) { return take_gpus(count, plan.name + " in " + plan.build.string()); }

}  // namespace cpize::tool
