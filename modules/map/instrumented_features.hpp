// InstrumentedFeatures: a feature dictionary that remembers which scope read what.
#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <string>

namespace cpize::map {

class InstrumentedFeatures {
 public:
  explicit InstrumentedFeatures(std::map<std::string, at::Tensor> features);

  /// The feature; the current scope is noted as its reader. ContractError naming what there is if it does not exist.
  at::Tensor operator()(const std::string& name) const;

  const std::map<std::string, at::Tensor>& tensors() const { return features_; }
  /// Feature -> the scope paths that read it.
  const std::map<std::string, std::set<std::string>>& readers() const { return readers_; }

 private:
  std::map<std::string, at::Tensor> features_;
  mutable std::map<std::string, std::set<std::string>> readers_;
};

}  // namespace cpize::map
