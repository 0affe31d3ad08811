// A small block with everything that a port can get wrong: a mask, a sum over tokens, a replicated operand, parameters
// used on every rank, one of them initialised to zero. The serial form and the port; mutants differ by one flag.
//
//   a, b = p(z) * mask;  o[i,j] = sum over k of a[i,k] b[j,k];  t = u(s);  out = w(o) * sigmoid(g(z)) + t[i]
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <string>
#include <utility>

#include "layout/redistribute.hpp"

namespace cpize::parity {

struct ToyWeightsImpl : torch::nn::Module {
  explicit ToyWeightsImpl(std::int64_t channels, const std::string& name_of_u = "u");
  torch::nn::Linear p, g, w, u;
};
TORCH_MODULE(ToyWeights);

struct ToySerialImpl : ToyWeightsImpl {
  using ToyWeightsImpl::ToyWeightsImpl;
  /// -> out [B,N,N,C], t [B,N,C]
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& z, const at::Tensor& s, const at::Tensor& mask);
};
TORCH_MODULE(ToySerial);

/// What is wrong with a port.
enum class Mutant {
  none,
  not_transposed,    // multiplies b as it is: sum over k of a[i,k] b[k,j]
  drops_gradient,    // rank 0 does not contribute to the gradient of p
  ignores_mask,      // does not multiply by the mask
  averages_axis,     // the gradient of u is averaged over cp1 instead of summed
  off_by_one,        // past the first shard border, rows are one off
  leaks_padding,     // a masked value of z reaches valid ones, far below any tolerance while padding is small
  replicas_differ,   // the last bit of a replicated output depends on the rank
  rounds_early,      // rounds the product to a fixed step, coarser than its dtype
  other_name,        // a parameter has another name than the serial block's
  holds_everything,  // gathers the whole of z on every rank: right, but over its budget
};

struct ToyPortImpl : ToyWeightsImpl {
  ToyPortImpl(std::int64_t channels, Mutant mutant)
      : ToyWeightsImpl(channels, mutant == Mutant::other_name ? "v" : "u"), mutant(mutant) {}
  std::pair<Sharded<Pair>, Sharded<SingleRow>> forward(const Sharded<Pair>& z, const Sharded<SingleRow>& s,
                                                       const Sharded<Pair>& mask);

  const Mutant mutant;
};
TORCH_MODULE(ToyPort);

}  // namespace cpize::parity
