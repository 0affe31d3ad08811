// OperationRecorder: watches every tensor operation of this thread while it lives, and notes for each scope how many
// there were, which parameters they touched and the shape of the largest tensor that they made. Facts from the run, not
// claims.
#pragma once
#include <ATen/record_function.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cpize::map {

/// What happened inside one scope (and not inside a deeper one).
struct ScopeFacts {
  std::int64_t operations = 0;
  std::set<std::string> parameters;
  std::vector<std::int64_t> largest_tensor;  // shape of the largest result
};

class OperationRecorder {
 public:
  using Parameters = std::vector<std::pair<std::string, at::Tensor>>;

  /// A parameter is recognised by its storage, so views and transposes of it count.
  explicit OperationRecorder(const Parameters& parameters);
  ~OperationRecorder();
  OperationRecorder(const OperationRecorder&) = delete;
  OperationRecorder& operator=(const OperationRecorder&) = delete;

  const std::map<std::string, ScopeFacts>& by_scope() const { return facts_; }
  /// Scope paths in the order in which they first ran an operation.
  const std::vector<std::string>& order() const { return order_; }

 private:
  static std::unique_ptr<at::ObserverContext> before(const at::RecordFunction& operation);
  static void after(const at::RecordFunction& operation, at::ObserverContext* context);
  ScopeFacts& here();

  std::map<const void*, std::string> parameter_of_storage_;
  std::map<std::string, ScopeFacts> facts_;
  std::vector<std::string> order_;
  at::CallbackHandle handle_;
};

}  // namespace cpize::map
