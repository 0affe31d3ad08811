// Scope: names the part of a model that is running. The map (phase 0) and the profilers (phase 6) read the names.
//
//   map::Scope layer("layer_0");
//   { map::Scope step("tri_mul_out");  ... }          // path "layer_0/tri_mul_out"
//
// Put scopes around calls, in the factory that composes a model; the model's own code stays as it is. A scope is also a
// RecordFunction range, so that Kineto traces show it. Cheap when nobody looks: a push, a pop and an inactive range.
#pragma once
#include <ATen/record_function.h>

#include <string>

namespace cpize::map {

class Scope {
 public:
  /// `name` must not contain '/', which separates the parts of a path (ContractError).
  explicit Scope(const std::string& name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// The path of the innermost scope on this thread, "" outside of all.
  static const std::string& current_path();

 private:
  std::size_t outer_length_;
  at::RecordFunction range_;
};

}  // namespace cpize::map
