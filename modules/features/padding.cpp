#include "features/padding.hpp"

#include <algorithm>

#include "error/error.hpp"

namespace cpize::features {

namespace {

int64_t round_up(int64_t tokens, int64_t multiple) {
  if (multiple < 1) throw ContractError("token multiple " + std::to_string(multiple) + "; expected at least 1");
  return (tokens + multiple - 1) / multiple * multiple;
}

Features pad_axis(const Features& features, FeatureAxis axis, int64_t present, int64_t wanted) {
  if (wanted < present) {
    throw ContractError("cannot pad " + std::to_string(present) + " " + std::string(name_of(axis)) + " to " +
                        std::to_string(wanted) + "; crop instead");
  }
  Features padded;
  for (const auto& [name, tensor] : features) {
    const FeatureSpec& spec = feature_spec(name);
    std::vector<int64_t> sizes = tensor.sizes().vec();
    for (size_t i = 0; i < spec.rank(); ++i) {
      if (spec.dimensions[i].axis == axis) sizes[i] = wanted;
    }
    at::Tensor target = at::full(sizes, spec.padding, tensor.options());
    at::Tensor valid = target;
    for (size_t i = 0; i < spec.rank(); ++i)
      valid = valid.narrow(static_cast<int64_t>(i), 0, tensor.size(static_cast<int64_t>(i)));
    valid.copy_(tensor);
    padded[name] = target;
  }
  return padded;
}

}  // namespace

Features pad_tokens_to(const Features& features, int64_t tokens) {
  return pad_axis(features, FeatureAxis::tokens, check_features(features), tokens);
}

Features pad_msa_to(const Features& features, int64_t rows) {
  check_features(features);
  const int64_t present = msa_depth(features);
  return present == 0 ? features : pad_axis(features, FeatureAxis::msa_rows, present, rows);
}

Features pad_tokens(const Features& features, int64_t multiple) {
  return pad_tokens_to(features, round_up(check_features(features), multiple));
}

Features collate(const std::vector<Features>& samples, int64_t multiple) {
  if (samples.empty()) throw ContractError("no samples to collate");
  int64_t tokens = 0, rows = 0;
  for (const auto& sample : samples) {
    tokens = std::max(tokens, check_features(sample));
    rows = std::max(rows, msa_depth(sample));
  }
  std::map<std::string, std::vector<at::Tensor>> columns;
  for (const auto& sample : samples) {
    for (const auto& [name, tensor] : pad_msa_to(pad_tokens_to(sample, round_up(tokens, multiple)), rows))
      columns[name].push_back(tensor);
  }
  Features batch;
  for (const auto& [name, tensors] : columns) {
    if (tensors.size() != samples.size()) {
      throw ContractError("feature '" + name + "' is in " + std::to_string(tensors.size()) + " of " +
                          std::to_string(samples.size()) + " samples; collation needs it in all or none");
    }
    batch[name] = at::stack(tensors);
  }
  return batch;
}

}  // namespace cpize::features
