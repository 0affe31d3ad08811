// Dropout masks that are shared along rows or columns, from named draws: the same numbers wherever they are asked for.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>

namespace cpize::serial {

/// Uniform draws in [0, 1) of a shape, as fp32, from the stream of that name. Two calls with one name and shape give
/// the same numbers.
using UniformSource = std::function<at::Tensor(const std::string& stream, at::IntArrayRef shape)>;

/// Where a module takes its dropout from. Default constructed: none (evaluation).
class Dropout {
 public:
  Dropout() = default;
  /// `path` is the dotted name of the module, to which child() adds.
  explicit Dropout(UniformSource uniform, std::string path = {})
      : uniform_(std::move(uniform)), path_(std::move(path)) {}

  Dropout child(const std::string& name) const;

  /// x times a factor [B,R,1,1] for x [B,R,M,C]: 0 with probability `rate`, else 1 / (1 - rate), one draw for each
  /// first index, shared over the second and the channels. Stream: the path, a dot and `name`. In promote_types(dtype,
  /// fp32).
  at::Tensor rows(const at::Tensor& x, double rate, const std::string& name) const;
  /// The same with a factor [B,1,M,1]: one draw for each second index.
  at::Tensor columns(const at::Tensor& x, double rate, const std::string& name) const;

 private:
  at::Tensor drop(const at::Tensor& x, at::IntArrayRef shape, double rate, const std::string& name) const;

  UniformSource uniform_;
  std::string path_;
};

}  // namespace cpize::serial
