#include "serial/dropout.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {
namespace {

std::string dotted(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

}  // namespace

Dropout Dropout::child(const std::string& name) const { return Dropout(uniform_, dotted(path_, name)); }

at::Tensor Dropout::drop(const at::Tensor& x, at::IntArrayRef shape, double rate, const std::string& name) const {
  if (!uniform_ || rate == 0) return x;
  const at::Tensor kept = uniform_(dotted(path_, name), shape) >= rate;
  const auto wide = at::promote_types(x.scalar_type(), at::kFloat);
  return x * (kept.to(wide) * (1.0 / (1.0 - rate)));
}

at::Tensor Dropout::rows(const at::Tensor& x, double rate, const std::string& name) const {
  return drop(x, {x.size(0), x.size(1), 1, 1}, rate, name);
}

at::Tensor Dropout::columns(const at::Tensor& x, double rate, const std::string& name) const {
  return drop(x, {x.size(0), 1, x.size(2), 1}, rate, name);
}

}  // namespace cpize::serial
