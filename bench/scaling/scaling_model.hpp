// ScalingRun: one rank's share of a pairformer layer or of the whole trunk, at any widths, with inputs that are drawn
// in the shards: nothing is ever whole, so that N is bounded by the mesh's memory and not by one machine's.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "parity/harness/cost.hpp"
#include "profile/step.hpp"

namespace cpize::bench {

/// "pairformer_layer": one layer, with gradients to s and z. "trunk": input embedding, pair initialisation, and in each
/// pass MSA module and pairformer, then the heads; layers are checkpointed, gradients flow through the last pass.
const std::vector<std::string>& scaling_models();

/// The published widths at `tokens` tokens, `given` on top. N, B (1); C channels of a pair, token_s of a token, H heads
/// of width D of the triangle attentions, heads of the token attention; of the trunk M channels of the S rows of the
/// MSA, blocks (of the pairformer), msa_blocks, passes, bins. ConfigError where `given` has another letter.
parity::Sizes scaling_sizes(std::int64_t tokens, const parity::Sizes& given);

class ScalingRun {
 public:
  /// Every rank of the mesh makes one. Parameters are random and the same on all ranks.
  ScalingRun(const std::string& model, const parity::Sizes& sizes, const parity::Setting& setting, const MeshPtr& mesh);

  /// Without gradients; what comes out is dropped.
  void forward();
  /// Forward, backward from random output gradients, reduce_gradients.
  void step(const profile::AfterForward& after_forward = {});
  void run(bool with_gradients) { with_gradients ? step() : forward(); }
  void clear_gradients();

  std::int64_t parameter_count() const;

 private:
  template <class Module, class Call>
  void use(Module module, Call call);
  void make_layer(const parity::Sizes& sizes);
  void make_trunk(const parity::Sizes& sizes);

  parity::Setting setting_;
  MeshPtr mesh_;
  std::function<std::vector<at::Tensor>()> call_;
  std::vector<at::Tensor> leaves_, parameters_, output_gradients_;
};

/// What the busiest rank may send in one run: the closed forms by which the parity cases of the parts are bounded,
/// added up, and in a step the sum of the parameters' gradients.
double sent_bytes_formula(const std::string& model, const parity::CostPoint& point, bool step,
                          std::int64_t parameter_count);

}  // namespace cpize::bench
