// The trunk on a mesh: from token, pair and MSA features to the single and pair representations, with recycling.
//
//   s_inputs = input_embedder(features);  s0 = s_init(s_inputs);  z0 as pair initialisation gives it;  s = z = 0
//   for each pass:  s = s0 + s_recycle(s_norm(s));  z = z0 + z_recycle(z_norm(z));  z += template_module(z)
//                   z += msa_module(z, s_inputs);  (s, z) = pairformer_module(s, z)
//   pdistogram = distogram_module(z);  bfactor = bfactor_module(s)
//
// Gradients flow through the last pass alone: earlier ones run without a graph and leave s and z behind.
// Source: Algorithm 1 of AlphaFold 3; Boltz-2's root module.
//
// Layouts: token features Single, pair features Pair, MSA features Msa, templates as template_module.hpp says. Padding
// may hold anything, NaN included: the entry replaces it with zero by `where`, in the shards.
// -> s_inputs, s, bfactor Single; z, pdistogram Pair; dtype: that of the parameters, under autocast as each part says.
// Communication, saved and peak: those of the parts; the entry adds two all-to-alls of the token mask. The recycled
// pair term is recomputed in backward (checkpoint.hpp): it saves nothing. Held across a pass: z0 and the last z, 2 b.
#pragma once
#include <optional>

#include "trunk/dropout.hpp"
#include "trunk/heads/bfactor.hpp"
#include "trunk/heads/distogram.hpp"
#include "trunk/input/input_conditioning.hpp"
#include "trunk/msa/msa_module.hpp"
#include "trunk/pair_initialisation.hpp"
#include "trunk/pairformer/pairformer.hpp"
#include "trunk/templates/template_module.hpp"

namespace cpize::trunk {

struct TrunkOptions {
  std::int64_t token_s = 384;
  RelativePositionOptions rel_pos = {};  // its token_z is the width of the pair representation
  InputConditioningOptions input = {};
  bool bond_types = true;
  std::optional<ContactConditioningOptions> contact = ContactConditioningOptions{};
  std::optional<TemplateModuleOptions> templates = {};
  MsaModuleOptions msa = {};  // its widths token_s and token_z are those of the trunk
  PairformerOptions pairformer = {};
  std::int64_t pairformer_blocks = 64;
  std::int64_t distogram_bins = 64;
  std::int64_t bfactor_bins = 64;
};

/// token_bonds [B,N,N,1], token_pad_mask [B,N] (1 valid, 0 padding). What the options ask for must be given.
struct TrunkFeatures {
  InputConditioningFeatures input;
  RelativePositionFeatures position;
  Sharded<Pair> token_bonds;
  Sharded<Single> token_pad_mask;
  PairConditioningFeatures conditioning;
  MsaFeatures msa;
  std::optional<TemplateFeatures> templates = {};
};

/// s_inputs, s [B,N,token_s], z [B,N,N,token_z], pdistogram [B,N,N,1,distogram_bins], bfactor [B,N,bfactor_bins].
struct TrunkOutput {
  Sharded<Single> s_inputs, s;
  Sharded<Pair> z, pdistogram;
  Sharded<Single> bfactor;
};

struct TrunkCall {
  std::int64_t recycling_steps = 0;  // passes after the first; the same on every rank
  Dropout dropout = {};              // training mode; pass r draws from its child "recycling_<r>"
};

/// Parameter names and order are those of a Boltz-2 checkpoint's root, without what the trunk does not hold (the atom
/// encoder, diffusion, confidence). Steps run in named scopes (map/scope.hpp): zero_padding, input_embedder, pair_init,
/// recycling, template_module, msa_module, pairformer_module, distogram_module, bfactor_module.
class TrunkImpl : public torch::nn::Module {
 public:
  explicit TrunkImpl(const TrunkOptions& options);

  /// Every rank of the mesh calls it.
  TrunkOutput forward(const TrunkFeatures& features, const TrunkCall& call = {});

  const TrunkOptions options;
  InputConditioning input_embedder;
  Projection s_init;
  PairInitialisation pair_init;  // its children are registered at the root, where a checkpoint has them
  Norm s_norm{nullptr}, z_norm{nullptr};
  Projection s_recycle{nullptr}, z_recycle{nullptr};
  TemplateModule template_module{nullptr};
  MsaModule msa_module{nullptr};
  PairformerModule pairformer_module{nullptr};
  DistogramModule distogram_module{nullptr};
  BFactorModule bfactor_module{nullptr};

 private:
  Sharded<Single> recycled_single(const Sharded<Single>& s0, const Sharded<Single>* s);
  Sharded<Pair> recycled_pair(const Sharded<Pair>& z0, const Sharded<Pair>* z);
};
TORCH_MODULE(Trunk);

}  // namespace cpize::trunk
