#include "trunk/replay.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"

namespace cpize::trunk {

void Replay::check(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& captured) {
  if (inputs.size() != captured.size())
    throw ContractError("a replay takes the " + std::to_string(captured.size()) + " inputs of its capture, got " +
                        std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].sizes() != captured[i].sizes() || inputs[i].scalar_type() != captured[i].scalar_type())
      throw ContractError("a replay takes inputs of the shapes and dtypes of its capture: input " + std::to_string(i) +
                          " differs");
}

}  // namespace cpize::trunk
