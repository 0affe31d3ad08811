#include "lifecycle/draw_parameters.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "random/draw.hpp"

namespace cpize::lifecycle {

void draw_parameters(torch::nn::Module& module, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (const auto& item : module.named_parameters()) {
    at::Tensor p = item.value();
    const at::Tensor drawn = random::uniform(random::Stream(seed, item.key()), p.sizes(), at::kDouble) * 2 - 1;
    if (p.dim() > 1)
      p.copy_(drawn * std::sqrt(3.0 / static_cast<double>(p.size(-1))));
    else
      p.copy_(drawn * 0.3 + (item.key().ends_with("weight") ? 1 : 0));
  }
}

}  // namespace cpize::lifecycle
