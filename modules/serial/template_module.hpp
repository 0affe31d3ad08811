// The template module: what known structures of the chains say about pairs of tokens, as an update of the pair
// representation.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/feature_source.hpp"
#include "serial/pairformer.hpp"

namespace cpize::serial {

struct TemplateModuleOptions {
  int64_t template_dim = 64;
  int64_t template_blocks = 2;
  double min_dist = 3.25, max_dist = 50.75;  // Angstrom: the first and last edge of the distogram
  int64_t num_bins = 38;
  PairformerOptions pairformer;
};

/// T templates a sample. asym_id [B,N] integer; template_restype [B,T,N,33] one-hot; template_frame_rot [B,T,N,3,3] and
/// template_frame_t [B,T,N,3]: the backbone frames; template_cb, template_ca [B,T,N,3]: coordinates in Angstrom;
/// template_mask_frame, template_mask_cb, template_mask [B,T,N]: 1 where frame, CB or the token exist.
struct TemplateFeatures {
  at::Tensor asym_id, template_restype, template_frame_rot, template_frame_t, template_mask_frame, template_cb,
      template_ca, template_mask_cb, template_mask;

  static TemplateFeatures from(const FeatureSource& features);
};

/// For each template: features of pairs, [one-hot bin of the CB distance (38), CB pair mask, sign of CA_i in the frame
/// of j by component (3), frame pair mask] where i and j are of one chain (else zeros), residue types of i and j
/// (33 + 33); v = z_proj(z_norm(z)) + a_proj(features); v += pairformer(v); v_norm. The mean of v over the templates
/// that have any token (zeros if none has) -> u_proj(relu(mean)).
///
/// The sign stands where a unit vector was meant: the published code normalises along an axis of length 1. Edges of
/// the distogram are rounded to fp32, as published.
///
/// Parameters, in order: z_norm, v_norm {weight,bias}, z_proj.weight [D, token_z], a_proj.weight [D, 109],
/// u_proj.weight [token_z, D], pairformer.layers.*.
class TemplateModuleImpl : public torch::nn::Module {
 public:
  TemplateModuleImpl(int64_t token_z, const TemplateModuleOptions& options = {});

  /// z [B,N,N,token_z], pair_mask [B,N,N] -> update [B,N,N,token_z], without z itself. Template t draws its dropout
  /// from child "templates.<t>.pairformer".
  at::Tensor forward(const at::Tensor& z, const TemplateFeatures& features, const at::Tensor& pair_mask,
                     const Dropout& dropout = {});

  /// The first 43 features of a pair, [B,T,N,N,num_bins + 5].
  at::Tensor geometry(const TemplateFeatures& features) const;

  const TemplateModuleOptions options;
  torch::nn::LayerNorm z_norm, v_norm;
  torch::nn::Linear z_proj, a_proj, u_proj;
  PairformerNoSeqModule pairformer;
};
TORCH_MODULE(TemplateModule);

}  // namespace cpize::serial
