// Contact conditioning: which pairs the user wants in contact, and how near, as a pair embedding.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/feature_source.hpp"
#include "serial/fourier_embedding.hpp"

namespace cpize::serial {

/// Classes of the feature, in its order: unspecified, unselected, pocket to binder, binder to pocket, contact.
inline constexpr int64_t kContactClasses = 5;

struct ContactConditioningOptions {
  double cutoff_min = 4, cutoff_max = 20;  // Angstrom: the thresholds that become 0 and 1
};

/// contact_conditioning [B,N,N,5] one-hot (integer or float), contact_threshold [B,N,N] in Angstrom.
struct ContactFeatures {
  at::Tensor contact_conditioning, contact_threshold;

  static ContactFeatures from(const FeatureSource& features);
};

/// With c the classes and t = (threshold - cutoff_min) / (cutoff_max - cutoff_min):
///   encoder([c2, c3, c4, t, fourier_embedding(t)]) (1 - (c0 + c1)) + c0 encoding_unspecified + c1 encoding_unselected
/// Parameters, in order: encoding_unspecified, encoding_unselected [token_z], fourier_embedding.proj.{weight,bias}
/// (frozen), encoder.weight [token_z, token_z + 4], encoder.bias.
class ContactConditioningImpl : public torch::nn::Module {
 public:
  explicit ContactConditioningImpl(int64_t token_z, const ContactConditioningOptions& options = {});

  /// -> [B,N,N,token_z]; differentiable in the threshold, too.
  at::Tensor forward(const ContactFeatures& features);

  const ContactConditioningOptions options;
  at::Tensor encoding_unspecified, encoding_unselected;
  FourierEmbedding fourier_embedding;
  torch::nn::Linear encoder;
};
TORCH_MODULE(ContactConditioning);

}  // namespace cpize::serial
