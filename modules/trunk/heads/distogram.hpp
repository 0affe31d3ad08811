// The distogram head on a mesh: logits of the distance between two tokens, from the symmetric part of z.
//
//   y[i,j] = distogram(z[i,j] + z[j,i])
//
// Source: Boltz-2, trunkv2 DistogramModule.
//
// Shapes: z Pair [B,N,N,token_z] -> y Pair [B,N,N,num_distograms,num_bins], in the dtype of z (under autocast: of
// autocast). z[j,i] is on another rank wherever cp0 and cp1 cut differently or i and j belong to different blocks: one
// exchange fetches the transposed block, of z or of its linear map, whichever is narrower. The map is linear, so that
// distogram(z[i,j]) + distogram(z[j,i]) is the same, and 64 bins of 128 channels halve the bytes.
//
// Cost per rank, with w = min(token_z, num_distograms num_bins), b(w) one shard of w channels:
//   forward sends    b(w) less what stays (a rank's own part of its transposed block): b(w) on 2x2 for two of the ranks
//   backward sends   the same
//   saved            z (an input), or z + z^T where that is what is mapped
//   peak             3 b(w) and y
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

/// [B,N,N,C], rows over cp1, columns over cp0: the layout whose shard is the transpose of what Pair's rank needs.
struct PairTransposed : Layout<TokenPair, On<dp>, On<cp1>, On<cp0>> {};

/// z[j,i] where this rank has z[i,j], in layout Pair. One exchange of a shard; rectangular meshes as well.
Sharded<Pair> transposed(const Sharded<Pair>& z);

/// Parameters, in order: distogram.weight [num_distograms num_bins, token_z], distogram.bias. Gradients are this rank's
/// share: reduce_gradients finishes them.
class DistogramModuleImpl : public torch::nn::Module {
 public:
  DistogramModuleImpl(std::int64_t token_z, std::int64_t num_bins, std::int64_t num_distograms = 1);

  /// Every rank of the mesh calls it. ContractError where z is not [B,N,N,token_z].
  Sharded<Pair> forward(const Sharded<Pair>& z);

  const std::int64_t num_bins, num_distograms;
  BiasedProjection distogram;
};
TORCH_MODULE(DistogramModule);

}  // namespace cpize::trunk
