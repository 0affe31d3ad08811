#include "serial/transition.hpp"

#include <ATen/Functions.h>

#include <algorithm>

namespace cpize::serial {

TransitionImpl::TransitionImpl(int64_t dim, int64_t hidden, int64_t out_dim)
    : norm(register_module("norm", layer_norm(dim))),
      fc1(register_module("fc1", lecun_linear(dim, hidden))),
      fc2(register_module("fc2", lecun_linear(dim, hidden))),
      fc3(register_module("fc3", zero_linear(hidden, out_dim > 0 ? out_dim : dim))) {}

at::Tensor TransitionImpl::forward(const at::Tensor& x, int64_t chunk_size) {
  const at::Tensor normed = norm(x);
  if (chunk_size <= 0) return fc3(at::silu(fc1(normed)) * fc2(normed));
  const int64_t hidden = fc1->weight.size(0);
  at::Tensor out;
  for (int64_t begin = 0; begin < hidden; begin += chunk_size) {
    const int64_t end = std::min(begin + chunk_size, hidden);
    const at::Tensor gate = at::silu(at::linear(normed, fc1->weight.slice(0, begin, end)));
    const at::Tensor part =
        at::linear(gate * at::linear(normed, fc2->weight.slice(0, begin, end)), fc3->weight.slice(1, begin, end));
    out = out.defined() ? out + part : part;
  }
  return out;
}

}  // namespace cpize::serial
