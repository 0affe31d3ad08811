// The MSA module on a mesh: an alignment, embedded and passed through layers that write what it says into the pairs.
//
//   m = msa_proj([one-hot msa, has_deletion, deletion_value, msa_paired]) + s_proj(s_inputs);  then the layers
//
// (AlphaFold 3, Algorithm 8; Boltz-2, MSAModule.) The alignment is embedded where its rows rest (layout Msa, tokens
// whole); of s_inputs only the projection moves, msa_s channels to every rank (SingleWhole).
//
// Shapes: z [B,N,N,token_z] layout Pair, s_inputs [B,N,token_s] and token_pad_mask [B,N] layout Single, features
// [B,S,N] layout Msa -> z, without the residual that the trunk adds. Padding of the features may hold anything, NaN
// included: the entry replaces it with zero by `where`, in the shards. Padding are the tokens that token_pad_mask
// leaves out and the rows of which nothing is valid; a position of a valid row and token that msa_mask leaves out is
// none: the row's own tokens see it, the pairs do not.
//
// With subsample_msa only num_subsampled_msa rows are kept, the first of a permutation that the caller draws, the same
// on every rank: the features, five channels, go to the tokens (MsaRow) and, selected, back to balanced rows.
//
// Cost: that of the layers, and forward (Q-1)/Q B N (msa_s + 1) elements for s_inputs and the token mask (backward: the
// adjoint), two all-to-alls of the token mask, and for subsampling 5 B S N cp1 / Q and 5 B S' N / Q. With checkpoint
// each layer keeps its inputs alone and is run again in backward (checkpointing/checkpoint.hpp).
#pragma once
#include <torch/nn/modules/container/modulelist.h>

#include "trunk/msa/msa_layer.hpp"

namespace cpize::trunk {

struct MsaModuleOptions {
  MsaLayerOptions layer = {};
  std::int64_t token_s = 384;
  std::int64_t msa_blocks = 4;
  bool use_paired_feature = true;  // whether a row is paired across chains is a channel of the embedding
  bool subsample_msa = false;      // only num_subsampled_msa rows, drawn anew in each pass
  std::int64_t num_subsampled_msa = 1024;
  bool checkpoint = false;
};

/// Residue types of an MSA: one channel each.
inline constexpr std::int64_t kMsaResidueTypes = 33;

/// Each [B,S,N]: msa (int64, residue types), has_deletion, deletion_value, msa_paired; msa_mask (1 valid, 0 padding;
/// may vary by row and by token).
struct MsaFeatures {
  Sharded<Msa> msa, has_deletion, deletion_value, msa_paired, msa_mask;
};

/// `features` with padding set to zero. Sends the token mask to every rank.
MsaFeatures zero_padding(const MsaFeatures& features, const Sharded<Single>& token_pad_mask);

/// Rows `kept` ([S'] int64, global indices, the same on every rank) of the features, in that order.
MsaFeatures select_rows(const MsaFeatures& features, const at::Tensor& kept);

/// Parameters, in order and named as in a checkpoint: s_proj.weight, msa_proj.weight, layers.<i>.*. Gradients are this
/// rank's share: reduce_gradients finishes them.
class MsaModuleImpl : public torch::nn::Module {
 public:
  explicit MsaModuleImpl(const MsaModuleOptions& options = {});

  /// Every rank of the mesh calls it. Layer i draws its dropout from child "layers.<i>". `permutation` [S] (int64, on
  /// the features' device) belongs to subsample_msa, and only to it (ContractError).
  Sharded<Pair> forward(Sharded<Pair> z, const Sharded<Single>& s_inputs, const MsaFeatures& features,
                        const Sharded<Single>& token_pad_mask, const Dropout& dropout = {},
                        const at::Tensor& permutation = {});

  const MsaModuleOptions options;
  Projection s_proj;
  Projection msa_proj;
  torch::nn::ModuleList layers;

 private:
  /// The embedded alignment, [B,S,N,msa_s].
  Sharded<Msa> embed(const Sharded<Single>& s_inputs, const MsaFeatures& features);
};
TORCH_MODULE(MsaModule);

}  // namespace cpize::trunk
