// ContactNet: scores a height map. Embedding, attention along rows and along columns, a pooled head.
#pragma once
#include "model/axial_attention.hpp"
#include "model/pooled_head.hpp"

namespace model {

struct Options {
  int64_t channels = 16, heads = 2, reach = 4;
};

class ContactNetImpl : public torch::nn::Module {
 public:
  explicit ContactNetImpl(const Options& options);

  /// height [B,N,N], present [B,N] (1: the map has this row and column, 0: padding). Returns [B,1].
  at::Tensor forward(const at::Tensor& height, const at::Tensor& present);

  torch::nn::Linear embed, lift;
  AxialAttention rows, columns;
  PooledHead head;
};
TORCH_MODULE(ContactNet);

}  // namespace model
