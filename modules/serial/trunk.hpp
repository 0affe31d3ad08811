// The trunk of the model: from token, pair and MSA features to the single and pair representations, with recycling.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <functional>
#include <optional>

#include "serial/bfactor.hpp"
#include "serial/distogram.hpp"
#include "serial/input_conditioning.hpp"
#include "serial/msa_module.hpp"
#include "serial/pair_initialisation.hpp"
#include "serial/pairformer.hpp"
#include "serial/template_module.hpp"

namespace cpize::serial {

struct TrunkOptions {
  int64_t token_s = 384;
  RelativePositionOptions rel_pos;  // its token_z is the width of the pair representation
  InputConditioningOptions input;
  bool bond_types = true;
  std::optional<ContactConditioningOptions> contact = ContactConditioningOptions{};
  std::optional<TemplateModuleOptions> templates;
  MsaModuleOptions msa;  // its widths token_s and token_z are those of the trunk
  PairformerOptions pairformer;
  int64_t pairformer_blocks = 64;
  int64_t distogram_bins = 64;
  int64_t bfactor_bins = 64;
};

/// What the options leave out may be undefined. Padding may hold anything, NaN included.
struct TrunkFeatures {
  InputConditioningFeatures input;
  RelativePositionFeatures position;
  at::Tensor token_bonds, token_pad_mask;  // [B,N,N,1]; [B,N], 1 valid, 0 padding
  PairConditioningFeatures conditioning;
  MsaFeatures msa;
  std::optional<TemplateFeatures> templates;

  static TrunkFeatures from(const FeatureSource& features, const TrunkOptions& options);
};

/// s_inputs, s [B,N,token_s]; z [B,N,N,token_z]; pdistogram [B,N,N,1,distogram_bins]; bfactor [B,N,bfactor_bins].
struct TrunkOutput {
  at::Tensor s_inputs, s, z, pdistogram, bfactor;
};

struct TrunkCall {
  int64_t recycling_steps = 0;  // passes after the first
  Dropout dropout = {};         // training mode; pass r draws from its child "recycling_<r>"
  /// Called with the name of each step and the step itself, which it must run: for whoever watches.
  std::function<void(const char* step, const std::function<void()>& run)> around = {};
};

/// s0 = s_init(s_inputs); z0 as pair initialisation gives it; s = z = 0, and for each pass
///   s = s0 + s_recycle(s_norm(s));  z = z0 + z_recycle(z_norm(z));  z += template_module(z);  z += msa_module(z);
///   (s, z) = pairformer_module(s, z)
/// Gradients flow through the last pass only. Parameter names and order are those of a Boltz-2 checkpoint's root,
/// without what the trunk does not hold (the atom encoder, diffusion, confidence).
class TrunkImpl : public torch::nn::Module {
 public:
  explicit TrunkImpl(const TrunkOptions& options);

  TrunkOutput forward(const TrunkFeatures& features, const TrunkCall& call = {});

  const TrunkOptions options;
  InputConditioning input_embedder;
  torch::nn::Linear s_init;
  PairInitialisation pair_init;  // its children are registered at the root, where a checkpoint has them
  torch::nn::LayerNorm s_norm{nullptr}, z_norm{nullptr};
  torch::nn::Linear s_recycle{nullptr}, z_recycle{nullptr};
  TemplateModule template_module{nullptr};
  MsaModule msa_module{nullptr};
  PairformerModule pairformer_module{nullptr};
  DistogramModule distogram_module{nullptr};
  BFactorModule bfactor_module{nullptr};
};
TORCH_MODULE(Trunk);

}  // namespace cpize::serial
