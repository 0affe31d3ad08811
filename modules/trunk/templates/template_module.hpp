// The template module on a mesh: what known structures of the chains say about pairs of tokens, as an update of z.
//
//   v_t = z_proj(z_norm(z)) + template_embedding_t;  v_t += pairformer(v_t)
//   u = u_proj(relu(mean over the templates that have a token of v_norm(v_t)))
//
// Source: Algorithm 16 of AlphaFold 3; Boltz-2, trunkv2 TemplateModule (whose context-parallel port leaves it out).
//
// Shapes: z Pair [B,N,N,token_z], features as in template_features.hpp, pair_mask Pair [B,N,N] -> u Pair
// [B,N,N,token_z], without z itself, in the dtype of z (under autocast: of autocast, as v, so that the stack's
// exchanges are as narrow as the pairformer's; the serial block keeps v in fp32). Templates are taken one after the
// other, so that one of them at a time holds working memory, and only their sum is kept.
//
// Cost per rank, T templates, b = one shard of D = template_dim channels:
//   forward sends    54 numbers a token and template to its row and its column, B T counts, and T times the stack's
//   backward sends   T times the stack's: the embedding's gradient needs no exchange
//   saved            T times the stack's and 1 b, the normed z, and the mean; of the embedding the operands, O(T N)
//   peak             forward: v, the sum and one block of the stack
// Gradients: z and all parameters; the features have none.
#pragma once
#include "trunk/pairformer/pairformer_noseq_module.hpp"
#include "trunk/templates/template_embedding.hpp"

namespace cpize::trunk {

struct TemplateModuleOptions {
  std::int64_t template_dim = 64;
  std::int64_t template_blocks = 2;
  TemplateBins bins = {};
  PairformerOptions pairformer = {};
};

/// Parameters, in order: z_norm, v_norm {weight,bias}, z_proj.weight [D, token_z], a_proj.weight [D, 109],
/// u_proj.weight [token_z, D], pairformer.layers.*. Gradients are this rank's share: reduce_gradients finishes them.
class TemplateModuleImpl : public torch::nn::Module {
 public:
  TemplateModuleImpl(std::int64_t token_z, const TemplateModuleOptions& options = {});

  /// Every rank of the mesh calls it. Template t draws its dropout from child "templates.<t>.pairformer". ContractError
  /// where the shapes do not belong together.
  Sharded<Pair> forward(const Sharded<Pair>& z, const TemplateFeatures& features, const Sharded<Pair>& pair_mask,
                        const Dropout& dropout = {});

  const TemplateModuleOptions options;
  Norm z_norm, v_norm;
  Projection z_proj, a_proj, u_proj;
  PairformerNoSeqModule pairformer;
};
TORCH_MODULE(TemplateModule);

}  // namespace cpize::trunk
