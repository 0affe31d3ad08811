#include "map/scope.hpp"

#include "error/error.hpp"

namespace cpize::map {
namespace {
thread_local std::string path;
}

Scope::Scope(const std::string& name) : outer_length_(path.size()), range_(at::RecordScope::USER_SCOPE) {
  if (name.empty() || name.find('/') != std::string::npos)
    throw ContractError("scope '" + name + "': a name is not empty and has no '/'");
  path += (path.empty() ? "" : "/") + name;
  if (range_.isActive()) range_.before(path);
}

Scope::~Scope() { path.resize(outer_length_); }

const std::string& Scope::current_path() { return path; }

}  // namespace cpize::map
