// Sizes, Tensors, ShardedTensors: what a parity case speaks in. A name that is not there is a ContractError that lists
// the names that are.
#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "layout/sharded.hpp"

namespace cpize::parity {

namespace detail {
[[noreturn]] void no_such_name(const std::string& kind, const std::string& name, const std::vector<std::string>& known);
}

template <class Value>
class Named {
 public:
  Named() = default;
  Named(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}

  const Value& operator[](const std::string& name) const {
    const auto it = values_.find(name);
    if (it == values_.end()) {
      std::vector<std::string> known;
      for (const auto& [key, value] : values_) known.push_back(key);
      detail::no_such_name(kind(), name, known);
    }
    static std::mutex mutex;  // the ranks of a run look up in one object at once
    const std::lock_guard lock(mutex);
    read_.insert(name);
    return it->second;
  }
  bool has(const std::string& name) const { return values_.contains(name); }
  void set(const std::string& name, Value value) { values_.insert_or_assign(name, std::move(value)); }

  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  /// The names that were looked up so far: what a block really reads.
  const std::set<std::string>& read() const { return read_; }

 protected:
  static std::string kind() { return std::is_integral_v<Value> ? "size" : "tensor"; }

 private:
  std::map<std::string, Value> values_;
  mutable std::set<std::string> read_;
};

/// Sizes by letter: B, N, C, ...
using Sizes = Named<std::int64_t>;
/// Full tensors by name.
using Tensors = Named<at::Tensor>;

/// One rank's shards by name.
class ShardedTensors : public Named<AnySharded> {
 public:
  using Named::Named;
  /// The shard of that name, which must be in layout L.
  template <class L>
  Sharded<L> get(const std::string& name) const {
    return (*this)[name].template as<L>();
  }
};

/// "B=2 C=8 N=7"
std::string str(const Sizes& sizes);

}  // namespace cpize::parity
