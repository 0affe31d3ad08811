// Errors of the tool, each with the exit code that the process ends with.
#pragma once
#include <stdexcept>
#include <string>

namespace cpize::tool {

enum Exit { kDone = 0, kFailed = 1, kUsage = 2, kBlocked = 3, kApproval = 4 };

class ToolError : public std::runtime_error {
 public:
  ToolError(Exit code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Exit code() const { return code_; }

 private:
  Exit code_;
};

/// Bad usage or bad input: the message names the thing and the remedy.
class UsageError : public ToolError {
 public:
  explicit UsageError(const std::string& message) : ToolError(kUsage, message) {}
};

/// Something that the machine or the checkout lacks; nothing that the tool does can replace it.
class Blocker : public ToolError {
 public:
  explicit Blocker(const std::string& message) : ToolError(kBlocked, message) {}
};

}  // namespace cpize::tool
