// cpize lock: the serial tree is the ground truth and read-only; its content is compared with a committed lock file.
//
// The lock file holds one line a file, "<sha256>  <path in the tree>", sorted, so that a difference names the file. The
// hash is of the bytes: a comment in the ground truth is part of it.
#include <fmt/core.h>

#include <map>

#include "commands.hpp"
#include "errors.hpp"
#include "sha256.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

using Hashes = std::map<std::string, std::string>;

// hidden files (an editor's, git's) are no part of the tree
Hashes hash_tree(Tree& tree) {
  const fs::path& root = tree.plan().serial_tree;
  if (root.empty()) throw UsageError("the plan names no SERIAL_TREE");
  std::error_code e;
  if (!fs::is_directory(root, e))
    throw Blocker(fmt::format("the serial tree {} is missing", tree.plan().portable(root.string())));
  Hashes h;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    if (it->path().filename().string().starts_with(".")) {
      if (it->is_directory()) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    const FileFacts* facts = tree.files().get(it->path().string());
    if (!facts) throw ToolError(kFailed, fmt::format("cannot read {}", it->path().string()));
    h[it->path().lexically_relative(root).string()] = facts->sha256;
  }
  if (h.empty()) throw Blocker(fmt::format("the serial tree {} is empty", tree.plan().portable(root.string())));
  return h;
}

std::string lock_text(const Hashes& h) {
  std::string s;
  for (const auto& [path, hash] : h) s += fmt::format("{}  {}\n", hash, path);
  return s;
}

std::optional<Hashes> read_lock(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return std::nullopt;
  Hashes h;
  int number = 0;
  for (const auto& line : split(*text)) {
    ++number;
    if (line.size() < 67 || line.substr(64, 2) != "  ") {
      throw UsageError(fmt::format("{}:{}: not a line of a lock file", file.string(), number));
    }
    h[line.substr(66)] = line.substr(0, 64);
  }
  return h;
}

std::vector<std::string> differences(const Hashes& locked, const Hashes& now) {
  std::vector<std::string> out;
  for (const auto& [path, hash] : now) {
    const auto it = locked.find(path);
    if (it == locked.end()) out.push_back(path + " is new");
    if (it != locked.end() && it->second != hash) out.push_back(path + " changed");
  }
  for (const auto& [path, hash] : locked) {
    if (!now.contains(path)) out.push_back(path + " is gone");
  }
  return out;
}

}  // namespace

int check_lock(Tree& tree) {
  const Hashes now = hash_tree(tree);
  const auto locked = read_lock(tree.plan().serial_lock);
  if (!locked) {
    fmt::print("LOCK RED: the serial tree was never locked; run: cpize lock --update --why REASON\n");
    return kFailed;
  }
  const auto diff = differences(*locked, now);
  if (diff.empty()) {
    fmt::print("the serial tree is as locked: {} files, {}\n", now.size(), sha256(lock_text(now)).substr(0, 16));
    return kDone;
  }
  fmt::print("LOCK RED: the serial tree differs from its lock: {}\n", join(diff, ", "));
  fmt::print("restore it, or, if the change is meant: cpize lock --update --why REASON\n");
  return kFailed;
}

int update_lock(Tree& tree, const std::string& why) {
  if (why.find_first_not_of(" \t\n") == std::string::npos) throw UsageError("lock --update needs a reason: --why TEXT");
  const Hashes now = hash_tree(tree);
  const auto locked = read_lock(tree.plan().serial_lock);
  const auto diff = differences(locked.value_or(Hashes{}), now);
  if (locked && diff.empty()) {
    fmt::print("nothing to do: the serial tree is as locked\n");
    return kDone;
  }
  // the reason first: a lock without a reason would be worse than a reason without a lock
  const std::string text = lock_text(now);
  record(tree.plan().decisions, {{"event", "lock"}, {"sha256", sha256(text)}, {"files", now.size()}, {"why", why}});
  write_atomically(tree.plan().serial_lock, text);
  fmt::print("locked {} files of the serial tree ({}): {}\n", now.size(), locked ? join(diff, ", ") : "first lock",
             why);
  return kDone;
}

}  // namespace cpize::tool
