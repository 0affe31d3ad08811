// The MSA module: an alignment, embedded and passed through layers that write what it says into the pairs.
#pragma once
#include <torch/nn/modules/container/modulelist.h>

#include "serial/feature_source.hpp"
#include "serial/msa_layer.hpp"

namespace cpize::serial {

struct MsaModuleOptions {
  MsaLayerOptions layer;
  int64_t token_s = 384;
  int64_t msa_blocks = 4;
  bool use_paired_feature = true;  // whether a row is paired across chains is a channel of the embedding
  bool subsample_msa = false;      // only num_subsampled_msa rows, drawn anew in each pass
  int64_t num_subsampled_msa = 1024;
};

/// Residue types of an MSA: one channel each.
inline constexpr int64_t kMsaResidueTypes = 33;

/// msa [B,S,N] (int64, residue types), has_deletion, deletion_value, msa_paired [B,S,N], msa_mask [B,S,N] (1 valid, 0
/// padding; may vary by row and by token).
struct MsaFeatures {
  at::Tensor msa, has_deletion, deletion_value, msa_paired, msa_mask;

  static MsaFeatures from(const FeatureSource& features);
};

/// `features` with padding set to zero: tokens that token_pad_mask [B,N] leaves out, and rows of which nothing is
/// valid. A position of a valid row and token that msa_mask leaves out is no padding: the row's own tokens see it, the
/// pairs do not.
MsaFeatures zero_padding(const MsaFeatures& features, const at::Tensor& token_pad_mask);

/// m = msa_proj([one-hot msa, has_deletion, deletion_value, msa_paired]) + s_proj(s_inputs), then the layers.
/// Parameters in order: s_proj.weight, msa_proj.weight, layers.<i>.*. Dropout: streams "layers.<i>...".
class MsaModuleImpl : public torch::nn::Module {
 public:
  explicit MsaModuleImpl(const MsaModuleOptions& options = {});

  /// z [B,N,N,token_z], s_inputs [B,N,token_s], token_pad_mask [B,N] -> z, without the residual that the trunk adds.
  /// `permutation` [S] (int64): with subsample_msa, the rows in the order of their draw, of which the first
  /// num_subsampled_msa are kept; undefined otherwise. Padding of the features may hold anything, NaN included.
  at::Tensor forward(at::Tensor z, const at::Tensor& s_inputs, const MsaFeatures& features,
                     const at::Tensor& token_pad_mask, const Dropout& dropout = {}, const at::Tensor& permutation = {});

  const MsaModuleOptions options;
  torch::nn::Linear s_proj;
  torch::nn::Linear msa_proj;
  torch::nn::ModuleList layers;
};
TORCH_MODULE(MsaModule);

}  // namespace cpize::serial
