#include "comm/call_site.hpp"

#include <utility>

namespace cpize::comm {
namespace {
thread_local const std::string* current_site = nullptr;
}

CallSite::CallSite(std::string description) : description_(std::move(description)), outer_(current_site) {
  current_site = &description_;
}
CallSite::~CallSite() { current_site = outer_; }

const std::string& CallSite::current() {
  static const std::string unnamed = "unnamed";
  return current_site ? *current_site : unnamed;
}

}  // namespace cpize::comm
