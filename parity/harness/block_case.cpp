#include "parity/harness/block_case.hpp"

#include <algorithm>

#include "error/error.hpp"

namespace cpize::parity {

BlockCase& BlockCase::declare(TensorInfo info) {
  last_is_output_ = info.kind == TensorInfo::Kind::output;
  auto& list = last_is_output_ ? outputs_ : inputs_;
  for (const auto& other : list)
    if (other.name == info.name) throw ContractError(name_ + ": '" + info.name + "' is declared twice");
  list.push_back(std::move(info));
  return *this;
}

TensorInfo& BlockCase::last() {
  auto& list = last_is_output_ ? outputs_ : inputs_;
  if (list.empty()) throw ContractError(name_ + ": masked_by() and values() follow a tensor");
  return list.back();
}

BlockCase& BlockCase::masked_by(const std::string& mask) {
  last().mask = mask;
  return *this;
}

BlockCase& BlockCase::values(ValueSource source) {
  last().values = std::move(source);
  return *this;
}

BlockCase& BlockCase::size(const std::string& letter, std::int64_t value) {
  if (letter == "B" || letter == "N") throw ContractError(name_ + ": the harness chooses " + letter);
  sizes_.set(letter, value);
  return *this;
}

BlockCase& BlockCase::contraction(std::vector<std::string> lengths) {
  contraction_ = std::move(lengths);
  return *this;
}

BlockCase& BlockCase::padding_is_nan() {
  nan_padding_ = true;
  return *this;
}

BlockCase& BlockCase::zero_gradient(std::vector<std::string> parameters) {
  zero_gradients_ = std::move(parameters);
  return *this;
}

BlockCase& BlockCase::perturbation(double strength) {
  perturbation_ = strength;
  return *this;
}

BlockCase& BlockCase::precision_size(Sizes sizes) {
  precision_sizes_ = std::move(sizes);
  return *this;
}

BlockCase& BlockCase::fused_size(Sizes sizes) {
  fused_sizes_ = std::move(sizes);
  return *this;
}

BlockCase& BlockCase::cost_size(Sizes sizes) {
  cost_sizes_ = std::move(sizes);
  return *this;
}

BlockCase& BlockCase::bound(const std::string& counter, CostBound bytes) {
  const auto& known = cost_counters();
  if (std::ranges::find(known, counter) == known.end()) {
    std::string all;
    for (const auto& k : known) all += " " + k;
    throw ContractError(name_ + ": no counter is called '" + counter + "'; there are:" + all);
  }
  bounds_[counter] = std::move(bytes);
  return *this;
}

const TensorInfo& BlockCase::input_named(const std::string& name) const {
  for (const auto& info : inputs_)
    if (info.name == name) return info;
  throw ContractError(name_ + ": no input is called '" + name + "'");
}

void BlockCase::check() const {
  const auto fail = [this](const std::string& what) { throw ContractError("parity case " + name_ + ": " + what); };
  if (!serial_ || !port_) fail("needs both serial() and port()");
  if (inputs_.empty() || outputs_.empty()) fail("needs an input and an output");
  if (contraction_.empty()) fail("needs contraction(): the lengths of the sums, from which the tolerance follows");
  if (!precision_sizes_.has("N") || !fused_sizes_.has("N")) fail("precision_size() and fused_size() need N");
  if (!bounds_.empty() && cost_sizes_.size() == 0) fail("has bounds but no cost_size() to measure at");
  for (const auto* list : {&inputs_, &outputs_})
    for (const auto& info : *list) {
      if (info.kind == TensorInfo::Kind::feature && !info.values) fail("feature '" + info.name + "' needs values()");
      if (!info.mask.empty() && input_named(info.mask).kind != TensorInfo::Kind::mask)
        fail("'" + info.mask + "', the mask of '" + info.name + "', is not declared with mask<>()");
    }
}

}  // namespace cpize::parity
