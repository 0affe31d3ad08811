#include "trunk/heads/bfactor.hpp"

#include <ATen/ATen.h>

namespace cpize::trunk {

BFactorModuleImpl::BFactorModuleImpl(std::int64_t token_s, std::int64_t num_bins)
    : bfactor(register_module("bfactor", BiasedProjection(token_s, num_bins))) {}

Sharded<Single> BFactorModuleImpl::forward(const Sharded<Single>& s) {
  return s.with(at::linear(s.local(), bfactor->weight, bfactor->bias));
}

}  // namespace cpize::trunk
