// EmbeddingTable: the parameter holder of a look-up by class, named as a checkpoint names it.
#pragma once
#include <ATen/Functions.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

namespace cpize::trunk {

/// Parameter: weight [classes, dim], zero until it is loaded.
class EmbeddingTableImpl : public torch::nn::Module {
 public:
  EmbeddingTableImpl(std::int64_t classes, std::int64_t dim)
      : weight(register_parameter("weight", at::zeros({classes, dim}))) {}

  at::Tensor weight;
};
TORCH_MODULE(EmbeddingTable);

}  // namespace cpize::trunk
