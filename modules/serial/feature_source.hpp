// Where a block's features come from: any function from a feature's published name to its tensor.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace cpize::serial {

/// A dictionary look-up, a file or an instrumented dictionary that records who reads what. Called once for each feature
/// of a block.
using FeatureSource = std::function<at::Tensor(const std::string& name)>;

}  // namespace cpize::serial
