// contact_net on a mesh: the whole model, composed of its ports. Scopes name the steps for the profilers.
#pragma once
#include "model/contact_net.hpp"
#include "ports/column_attention.hpp"
#include "ports/pooled_head.hpp"
#include "ports/row_attention.hpp"

namespace contactnet {

/// height [B,N,N] Pair, present [B,N] Single -> [B,1] PerMap. What padding holds does not matter.
class ContactNetImpl : public torch::nn::Module {
 public:
  explicit ContactNetImpl(const model::Options& options);
  cpize::Sharded<PerMap> forward(const cpize::Sharded<cpize::Pair>& height,
                                 const cpize::Sharded<cpize::Single>& present);

  torch::nn::Linear embed, lift;
  RowAttention rows;
  ColumnAttention columns;
  PooledHead head;
};
TORCH_MODULE(ContactNet);

}  // namespace contactnet
