// AdamW whose state is keyed by parameter name, so that it can be saved, inspected and restored bit for bit.
//
//   w <- w (1 - lr wd);   m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2
//   w <- w - lr / (1 - b1^t)  m / (sqrt(v) / sqrt(1 - b2^t) + eps)
//
// Source: Loshchilov and Hutter 2019; constants of Boltz-2. State has the dtype of its parameter. No communication:
// gradients are replicated (reduce_gradients), so every rank takes the same step.
#pragma once
#include <cstdint>

#include "lifecycle/named_tensors.hpp"

namespace cpize::lifecycle {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.003;
  /// Parameters whose name contains one of these do not decay. Boltz-2's list, with its surprises: a layer norm inside
  /// a Sequential ("proj_z.0") decays, and so does a top-level "z_init_1.weight" (the pattern begins with a dot).
  std::vector<std::string> no_decay = {
      "norm", "rel_pos", ".s_init", ".z_init_", "token_bonds", "embed_atom_features", "dist_bin_pairwise_embed"};
};

/// Does weight decay apply to the parameter of this name?
bool decays(const std::string& name, const AdamWOptions& options);

class AdamW {
 public:
  /// State starts as zeros. ConfigError where there is nothing to train.
  AdamW(NamedTensors parameters, AdamWOptions options);

  /// One step with the parameters' gradients; a parameter without a gradient is left alone, as torch does.
  void step(double learning_rate);

  const NamedTensors& parameters() const { return parameters_; }
  const AdamWOptions& options() const { return options_; }

  /// exp_avg.<name>, exp_avg_sq.<name> like the parameter; step.<name>: int64 [], steps this parameter took. They share
  /// memory with the optimizer: assign() to them restores it.
  NamedTensors state() const;

 private:
  struct Moments {
    at::Tensor exp_avg, exp_avg_sq, step;
    bool decays;
  };
  NamedTensors parameters_;
  AdamWOptions options_;
  std::vector<Moments> moments_;  // as parameters_
};

/// Square root of the sum of the squares of all gradients; each tensor is summed in promote_types(dtype, fp32), the
/// tensors in fp64, in order: the same bits on every rank that holds the same gradients.
double gradient_norm(const NamedTensors& parameters);

/// Scales all gradients by max_norm / (norm + 1e-6) where that is below 1 (torch's clip_grad_norm_).
void clip_gradients(const NamedTensors& parameters, double norm, double max_norm);

}  // namespace cpize::lifecycle
