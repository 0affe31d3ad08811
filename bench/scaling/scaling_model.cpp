#include "bench/scaling/scaling_model.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "layout/sharded.hpp"
#include "parity/harness/runs.hpp"
#include "trunk/padding.hpp"
#include "trunk/pairformer/pairformer_layer.hpp"
#include "trunk/recycling/trunk.hpp"

namespace cpize::bench {
namespace {

using parity::Setting;
using parity::Sizes;

/// Parameters start as zeros and ones; a benchmark on zeros would flatter a GPU.
template <class Module>
void randomise(Module& module, const Setting& setting) {
  const at::NoGradGuard no_grad;
  module->to(setting.device(), setting.wide());
  at::Generator generator = parity::generator_for("parameters of a scaling run");
  for (auto& p : module->parameters()) {
    const at::Tensor drawn = at::randn(p.sizes(), generator, at::kDouble).to(p.options());
    p.dim() == 1 ? p.add_(drawn, 0.1) : p.copy_(drawn / std::sqrt(static_cast<double>(p.size(1))));
  }
}

/// Draws shards of features.
class Draw {
 public:
  Draw(const Setting& setting, const MeshPtr& mesh) : options_(setting.device()), mesh_(mesh) {
    options_ = options_.dtype(setting.wide());
  }

  template <class L>
  Shape local(const Shape& global) const {
    return box_of(L::spec, global, mesh_->shape(), mesh_->coordinates()).size;
  }
  template <class L>
  Sharded<L> normal(const Shape& global, at::ScalarType dtype) const {
    return wrap<L>(at::randn(local<L>(global), options_.dtype(dtype)), global, mesh_);
  }
  template <class L>
  Sharded<L> uniform(const Shape& global, double scale = 1, double from = 0) const {
    return wrap<L>(at::rand(local<L>(global), options_) * scale + from, global, mesh_);
  }
  template <class L>
  Sharded<L> flags(const Shape& global, double share) const {
    return wrap<L>(at::rand(local<L>(global), options_).lt(share).to(options_.dtype()), global, mesh_);
  }
  template <class L>
  Sharded<L> ones(const Shape& global) const {
    return wrap<L>(at::ones(local<L>(global), options_), global, mesh_);
  }
  template <class L>
  Sharded<L> classes(const Shape& global, std::int64_t bound) const {
    return wrap<L>(at::randint(bound, local<L>(global), options_.dtype(at::kLong)), global, mesh_);
  }
  /// Of `global` without its last dimension.
  template <class L>
  Sharded<L> one_hot(const Shape& global, std::int64_t bound) const {
    const auto drawn = classes<L>(global, bound);
    return drawn.with(at::one_hot(drawn.local(), bound).to(options_.dtype()));
  }

 private:
  at::TensorOptions options_;
  MeshPtr mesh_;
};

trunk::PairformerOptions pairformer_options(const Sizes& s) {
  trunk::PairformerOptions options;
  options.num_heads = s["heads"];
  options.pairwise_num_heads = s["H"];
  options.pairwise_head_width = s["D"];
  return options;
}

trunk::TrunkOptions trunk_options(const Sizes& s) {
  trunk::TrunkOptions options;
  options.token_s = s["token_s"];
  options.rel_pos.token_z = s["C"];
  options.msa.msa_blocks = s["msa_blocks"];
  options.msa.layer.msa_s = s["M"];
  options.msa.layer.pairwise_num_heads = s["H"];
  options.msa.layer.pairwise_head_width = s["D"];
  options.pairformer = pairformer_options(s);
  options.pairformer_blocks = s["blocks"];
  options.pairformer.checkpoint = options.msa.checkpoint = true;
  options.distogram_bins = options.bfactor_bins = s["bins"];
  return options;
}

trunk::TrunkFeatures trunk_features(const Sizes& s, const Draw& draw) {
  const std::int64_t n = s["N"], rows = s["S"];
  const Shape tokens{1, n}, pairs{1, n, n}, msa{1, rows, n};
  const auto ids = [&](std::int64_t bound) { return draw.classes<Single>(tokens, bound); };
  const auto periods = draw.classes<Single>(tokens, 1);  // no chain is cyclic
  return {{{draw.one_hot<Single>(tokens, 33), draw.uniform<Single>({1, n, 33}), draw.uniform<Single>(tokens)},
           ids(12),
           ids(2),
           periods,
           ids(4)},
          {ids(2), ids(n), ids(2), ids(n), ids(3), periods},
          draw.flags<Pair>({1, n, n, 1}, 0.1),
          draw.ones<Single>(tokens),
          {draw.classes<Pair>(pairs, trunk::kBondTypes),
           trunk::ContactFeatures{draw.one_hot<Pair>(pairs, 5), draw.uniform<Pair>(pairs, 20, 2)}},
          {draw.classes<Msa>(msa, trunk::kMsaResidueTypes), draw.flags<Msa>(msa, 0.1), draw.uniform<Msa>(msa),
           draw.flags<Msa>(msa, 0.5), draw.ones<Msa>(msa)}};
}

}  // namespace

const std::vector<std::string>& scaling_models() {
  static const std::vector<std::string> names{"pairformer_layer", "trunk"};
  return names;
}

Sizes scaling_sizes(std::int64_t tokens, const Sizes& given) {
  Sizes all{{"1", 1},  {"B", 1},      {"N", tokens}, {"C", 128},    {"token_s", 384},  {"D", 32},     {"H", 4},
            {"M", 64}, {"heads", 16}, {"S", 1024},   {"blocks", 2}, {"msa_blocks", 1}, {"passes", 2}, {"bins", 64}};
  for (const auto& [letter, value] : given) {
    if (!all.has(letter) || letter == "1" || letter == "B" || letter == "N")
      throw ConfigError("--size takes C, token_s, D, H, M, heads, S, blocks, msa_blocks, passes and bins, not '" +
                        letter + "'");
    all.set(letter, value);
  }
  if (all["token_s"] % all["heads"] != 0)
    throw ConfigError("--size: heads (" + std::to_string(all["heads"]) + ") do not divide token_s (" +
                      std::to_string(all["token_s"]) + ")");
  return all;
}

template <class Module, class Call>
void ScalingRun::use(Module module, Call call) {
  randomise(module, setting_);
  parameters_ = module->parameters();
  call_ = [module, call]() mutable { return call(module); };
}

ScalingRun::ScalingRun(const std::string& model, const Sizes& sizes, const Setting& setting, const MeshPtr& mesh)
    : setting_(setting), mesh_(mesh) {
  if (model == "pairformer_layer")
    make_layer(sizes);
  else if (model == "trunk")
    make_trunk(sizes);
  else
    throw ConfigError("no scaling model is called '" + model + "'; there are: pairformer_layer, trunk");
}

void ScalingRun::make_layer(const Sizes& sizes) {
  const Draw draw(setting_, mesh_);
  const std::int64_t n = sizes["N"];
  const auto z = draw.normal<Pair>({1, n, n, sizes["C"]}, setting_.dtype);
  // The token track is fp32 under autocast, as in the model.
  const auto s = draw.normal<Single>({1, n, sizes["token_s"]}, setting_.wide());
  leaves_ = {s.local(), z.local()};
  for (auto& leaf : leaves_) leaf.requires_grad_();
  const auto mask = draw.ones<Single>({1, n});
  const auto pairs = trunk::pair_mask(mask);
  use(trunk::PairformerLayer(sizes["token_s"], sizes["C"], pairformer_options(sizes)), [=](auto& layer) {
    const auto [new_s, new_z] = layer->forward(s, z, mask, pairs);
    return std::vector{new_s.local(), new_z.local()};
  });
}

void ScalingRun::make_trunk(const Sizes& sizes) {
  const trunk::TrunkFeatures features = trunk_features(sizes, Draw(setting_, mesh_));
  const trunk::TrunkCall call{.recycling_steps = sizes["passes"] - 1};
  use(trunk::Trunk(trunk_options(sizes)), [=](auto& model) {
    const auto out = model->forward(features, call);
    return std::vector{out.s.local(), out.z.local(), out.pdistogram.local(), out.bfactor.local()};
  });
}

void ScalingRun::forward() {
  const at::NoGradGuard no_grad;
  const parity::AutocastScope autocast(setting_);
  call_();
}

void ScalingRun::step(const profile::AfterForward& after_forward) {
  const std::vector<at::Tensor> outputs = [&] {
    const parity::AutocastScope autocast(setting_);
    return call_();
  }();
  if (output_gradients_.empty())
    for (const auto& y : outputs) output_gradients_.push_back(at::randn_like(y));
  if (after_forward) after_forward();
  torch::autograd::backward(outputs, output_gradients_);
  reduce_gradients(parameters_, *mesh_);
}

void ScalingRun::clear_gradients() {
  for (auto* tensors : {&leaves_, &parameters_})
    for (auto& t : *tensors) t.mutable_grad() = at::Tensor();
}

std::int64_t ScalingRun::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& p : parameters_) count += p.numel();
  return count;
}

}  // namespace cpize::bench
