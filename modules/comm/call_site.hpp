// CallSite: what the code is doing when it enters a collective, for the messages and checks of the sanitizer.
//
// Only a description travels here, never a rank identity: it is set and read on one thread, right before the operation.
#pragma once
#include <string>

namespace cpize::comm {

/// RAII: names the collective that the enclosing scope is about to enter, e.g. "redistribute [dp,cp0,cp1] -> ...".
class CallSite {
 public:
  explicit CallSite(std::string description);
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// The innermost description on this thread, "unnamed" if there is none.
  static const std::string& current();

 private:
  std::string description_;
  const std::string* outer_;
};

}  // namespace cpize::comm
