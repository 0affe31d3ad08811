// Contact conditioning on a mesh: which pairs the user wants in contact, and how near, as a pair embedding.
//
//   t = (threshold - cutoff_min) / (cutoff_max - cutoff_min),  c the one-hot classes, g = 1 - (c0 + c1)
//   y = g encoder([c2, c3, c4, t, fourier_embedding(t)]) + c0 encoding_unspecified + c1 encoding_unselected
//
// Source: Boltz-2, trunkv2 ContactConditioning. It is one linear map of token_z + 7 features of a pair,
// [g c2, g c3, g c4, g t, g fourier(t), g, c0, c1], which are made a panel at a time (pair_assembly.hpp).
//
// Shapes: classes Pair [B,N,N,5] one-hot (integer or float), threshold Pair [B,N,N] in Angstrom -> y Pair
// [B,N,N,token_z] in the dtype of the weights (under autocast: of autocast). Communication: none. Saved: the features
// (6 channels of a pair). Peak: y, and features and their gradient of a panel. Differentiable in the threshold.
#pragma once
#include "layout/sharded.hpp"
#include "trunk/input/fourier_embedding.hpp"
#include "trunk/pair_assembly.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

struct ContactConditioningOptions {
  double cutoff_min = 4, cutoff_max = 20;  // Angstrom: the thresholds that become 0 and 1
};

/// contact_conditioning [B,N,N,5]: unspecified, unselected, pocket to binder, binder to pocket, contact.
/// contact_threshold [B,N,N].
struct ContactFeatures {
  Sharded<Pair> contact_conditioning, contact_threshold;
};

/// Parameters, in order: encoding_unspecified, encoding_unselected [token_z], fourier_embedding.proj.{weight,bias}
/// (frozen), encoder.weight [token_z, token_z + 4], encoder.bias. Gradients are this rank's share.
class ContactConditioningImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t kClasses = 5;

  explicit ContactConditioningImpl(std::int64_t token_z, const ContactConditioningOptions& options = {});

  /// ContractError where the shapes do not fit.
  Sharded<Pair> forward(const ContactFeatures& features);

  /// The same as a term of a pair tensor that has others beside it.
  PairMap map(const ContactFeatures& features) const;

  const ContactConditioningOptions options;
  at::Tensor encoding_unspecified, encoding_unselected;
  FourierEmbedding fourier_embedding;
  BiasedProjection encoder;
};
TORCH_MODULE(ContactConditioning);

}  // namespace cpize::trunk
