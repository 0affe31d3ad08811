#include "profile/operation_tally.hpp"

#include <ATen/core/Tensor.h>

#include <string_view>

#include "error/error.hpp"

namespace cpize::profile {
namespace {

thread_local OperationTally* active = nullptr;  // callbacks are plain functions

/// Of the calls that do the products; everything else (matmul, linear, einsum) calls these.
double product_flops(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  std::size_t first = 0;
  if (name == "aten::addmm" || name == "aten::addmm_" || name == "aten::baddbmm" || name == "aten::baddbmm_")
    first = 1;
  else if (name != "aten::mm" && name != "aten::bmm")
    return 0;
  const auto inputs = operation.inputs();
  if (inputs.size() < first + 2 || !inputs[first].isTensor() || !inputs[first + 1].isTensor()) return 0;
  const at::Tensor &a = inputs[first].toTensor(), &b = inputs[first + 1].toTensor();
  return 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.size(-1));
}

}  // namespace

OperationTally::OperationTally(const ScopeTracker& tracker, MemoryAttribution* memory, at::ScalarType wanted)
    : tracker_(tracker), memory_(memory), wanted_size_(static_cast<std::int64_t>(c10::elementSize(wanted))) {
  if (active) throw ContractError("operations of this thread are being tallied already");
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&OperationTally::before, &OperationTally::after)
                                           .needsInputs(true)
                                           .needsOutputs(memory != nullptr)
                                           .scopes({at::RecordScope::FUNCTION}));
  active = this;
}

OperationTally::~OperationTally() {
  active = nullptr;
  at::removeCallback(handle_);
}

std::unique_ptr<at::ObserverContext> OperationTally::before(const at::RecordFunction& operation) {
  if (!active) return nullptr;
  if (const double flops = product_flops(operation); flops > 0) active->flops_[active->tracker_.here()] += flops;
  return nullptr;
}

void OperationTally::after(const at::RecordFunction& operation, at::ObserverContext*) {
  if (!active || !active->memory_) return;
  for (const auto& value : operation.outputs()) {
    if (!value.isTensor()) continue;
    const at::Tensor& t = value.toTensor();
    if (t.defined() && t.has_storage() && at::isFloatingType(t.scalar_type()) &&
        t.element_size() > active->wanted_size_)
      active->memory_->mark_wide(t.storage().data());
  }
}

double OperationTally::total_flops() const {
  double sum = 0;
  for (const auto& [place, flops] : flops_) sum += flops;
  return sum;
}

}  // namespace cpize::profile
