#include "map/operation_recorder.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "map/scope.hpp"

namespace cpize::map {
namespace {

thread_local OperationRecorder* active = nullptr;  // callbacks are plain functions

template <class Values, class F>
void for_each_tensor(const Values& values, F f) {
  for (const auto& value : values) {
    if (value.isTensor() && value.toTensor().defined())
      f(value.toTensor());
    else if (value.isTensorList())
      for (const at::Tensor& t : value.toTensorVector())
        if (t.defined()) f(t);
  }
}

}  // namespace

OperationRecorder::OperationRecorder(const Parameters& parameters) {
  if (active) throw ContractError("operations of this thread are being recorded already");
  for (const auto& [name, tensor] : parameters) parameter_of_storage_[tensor.storage().data()] = name;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&OperationRecorder::before, &OperationRecorder::after)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
  active = this;
}

OperationRecorder::~OperationRecorder() {
  active = nullptr;
  at::removeCallback(handle_);
}

ScopeFacts& OperationRecorder::here() {
  const std::string& path = Scope::current_path();
  auto [at, fresh] = facts_.try_emplace(path);
  if (fresh) order_.push_back(path);
  return at->second;
}

std::unique_ptr<at::ObserverContext> OperationRecorder::before(const at::RecordFunction& operation) {
  if (!active) return nullptr;
  ScopeFacts& facts = active->here();
  ++facts.operations;
  for_each_tensor(operation.inputs(), [&](const at::Tensor& t) {
    if (!t.has_storage()) return;
    const auto known = active->parameter_of_storage_.find(t.storage().data());
    if (known != active->parameter_of_storage_.end()) facts.parameters.insert(known->second);
  });
  return nullptr;
}

void OperationRecorder::after(const at::RecordFunction& operation, at::ObserverContext*) {
  if (!active) return;
  ScopeFacts& facts = active->here();
  std::int64_t largest = 0;
  for (auto n : facts.largest_tensor) largest = largest == 0 ? n : largest * n;
  for_each_tensor(operation.outputs(), [&](const at::Tensor& t) {
    if (t.numel() <= largest) return;
    largest = t.numel();
    facts.largest_tensor = t.sizes().vec();
  });
}

}  // namespace cpize::map
