#include "profile/scoped_slice.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "map/scope.hpp"
#include "parity/harness/parameters.hpp"
#include "parity/harness/runs.hpp"

namespace cpize::profile {
namespace {

template <class Step>
auto scoped(const char* name, const Step& step) {
  const map::Scope scope(name);
  return step();
}

serial::PairSlice new_serial(const SliceSize& size) {
  serial::PairSliceOptions options;
  options.token_s = size.token_s;
  options.rel_pos.token_z = size.channels;
  return serial::PairSlice(options);
}

trunk::PairSlice new_port(const SliceSize& size) {
  trunk::PairSliceOptions options;
  options.token_s = size.token_s;
  options.rel_pos.token_z = size.channels;
  return trunk::PairSlice(options);
}

void clear(torch::nn::Module& module) {
  for (auto& p : module.parameters()) p.mutable_grad() = at::Tensor();
}

at::Tensor output_gradient_shard(const SliceProblem& problem, const MeshPtr& mesh) {
  const SliceSize& size = problem.size;
  if (problem.output_gradient.defined()) return shard<Pair>(problem.output_gradient, mesh).local();
  const Box mine =
      box_of(Pair::spec, {size.batch, size.tokens, size.tokens, size.channels}, mesh->shape(), mesh->coordinates());
  return at::randn(mine.size, at::TensorOptions(size.dtype).device(size.device));
}

std::int64_t bytes_of(const torch::nn::Module& module) {
  std::int64_t sum = 0;
  for (const auto& p : module.parameters()) sum += static_cast<std::int64_t>(p.nbytes());
  return sum;
}

}  // namespace

const std::vector<std::string>& slice_scopes() {
  static const std::vector<std::string> names{"zero_padding", "input_embedder", "pair_init",       "tri_mul_out",
                                              "tri_mul_in",   "transition_z",   "reduce_gradients"};
  return names;
}

SliceProblem make_slice_problem(const SliceSize& size) {
  SliceProblem problem;
  problem.size = size;
  problem.model = new_serial(size);
  parity::perturb(*problem.model, "profiled slice");
  problem.model->to(size.wide());

  at::Generator g = parity::generator_for("profiled slice features");
  const std::int64_t b = size.batch, n = size.tokens;
  const auto ids = [&](std::int64_t bound) { return at::randint(0, bound, {b, n}, g, at::TensorOptions(at::kLong)); };
  const auto uniform = [&](at::IntArrayRef shape) { return at::rand(shape, g, at::TensorOptions(at::kDouble)); };
  auto& f = problem.features;
  f["res_type"] = at::one_hot(ids(serial::kResidueTypes), serial::kResidueTypes);
  f["profile"] = uniform({b, n, serial::kResidueTypes}).to(size.wide());
  f["deletion_mean"] = uniform({b, n}).to(size.wide());
  f["asym_id"] = ids(2);
  f["residue_index"] = ids(60);
  f["entity_id"] = ids(2);
  f["token_index"] = at::arange(n, at::kLong).expand({b, n}).contiguous();
  f["sym_id"] = ids(5);
  f["cyclic_period"] = ids(2) * 12;
  f["token_bonds"] = (uniform({b, n, n, 1}) > 0.9).to(size.wide());
  f["token_pad_mask"] = (at::arange(n) < n - n / 8).to(size.wide()).expand({b, n}).contiguous();
  if (!size.device.is_cpu()) {
    for (auto& [name, feature] : f) feature = feature.to(size.device);
    return problem;
  }
  const at::Tensor mask = f["token_pad_mask"];
  problem.output_gradient = (at::randn({b, n, n, size.channels}, g, at::TensorOptions(at::kDouble)) *
                             (mask.unsqueeze(2) * mask.unsqueeze(1)).unsqueeze(-1))
                                .to(size.dtype);
  return problem;
}

SerialSliceRun::SerialSliceRun(const SliceProblem& problem)
    : model_(problem.model),
      features_(serial::PairSliceFeatures::from([&](const std::string& name) { return problem.features.at(name); })),
      output_gradient_(problem.output_gradient) {}

at::Tensor SerialSliceRun::forward() {
  const auto f = scoped("zero_padding", [&] { return serial::zero_padding(features_); });
  const auto mask = scoped("zero_padding", [&] { return serial::pair_mask(f.token_pad_mask); });
  const auto s_inputs = scoped("input_embedder", [&] { return model_->input_embedder(f.input); });
  at::Tensor z = scoped("pair_init", [&] { return model_->pair_init(s_inputs, f.position, f.token_bonds); });
  z = scoped("tri_mul_out", [&] { return z + model_->tri_mul_out(z, mask); });
  z = scoped("tri_mul_in", [&] { return z + model_->tri_mul_in(z, mask); });
  return scoped("transition_z", [&] { return z + model_->transition_z(z); });
}

void SerialSliceRun::step(const AfterForward& after_forward) {
  const at::Tensor z = forward();
  if (after_forward) after_forward();
  torch::autograd::backward({z}, {output_gradient_});
}

void SerialSliceRun::clear_gradients() { clear(*model_); }

PortSliceRun::PortSliceRun(const SliceProblem& problem, const MeshPtr& mesh)
    : mesh_(mesh),
      model_(new_port(problem.size)),
      features_([&] {
        const auto single = [&](const char* name) { return shard<Single>(problem.features.at(name), mesh); };
        return trunk::PairSliceFeatures{{single("res_type"), single("profile"), single("deletion_mean")},
                                        {single("asym_id"), single("residue_index"), single("entity_id"),
                                         single("token_index"), single("sym_id"), single("cyclic_period")},
                                        shard<Pair>(problem.features.at("token_bonds"), mesh),
                                        single("token_pad_mask")};
      }()),
      output_gradient_(output_gradient_shard(problem, mesh)),
      setting_(mesh->shape()) {
  parity::copy_parameters(problem.model.get(), model_.get(), "profiled slice");
  model_->to(problem.size.device, problem.size.wide());
  if (!problem.size.autocast) return;
  setting_.dtype = problem.size.dtype;
  setting_.device_type = problem.size.device.type();
}

Sharded<Pair> PortSliceRun::forward() {
  const auto mask = scoped("zero_padding", [&] { return trunk::pair_mask(features_.token_pad_mask); });
  const auto f = scoped("zero_padding", [&] { return trunk::zero_padding(features_, mask); });
  const auto s_inputs = scoped("input_embedder", [&] { return model_->input_embedder(f.input); });
  auto z = scoped("pair_init", [&] { return model_->pair_init(s_inputs, f.position, f.token_bonds); });
  z = scoped("tri_mul_out", [&] { return trunk::add_to(z, model_->tri_mul_out(z, mask)); });
  z = scoped("tri_mul_in", [&] { return trunk::add_to(z, model_->tri_mul_in(z, mask)); });
  return scoped("transition_z", [&] { return trunk::add_to(z, model_->transition_z(z)); });
}

void PortSliceRun::step(const AfterForward& after_forward) {
  const Sharded<Pair> z = [&] {
    const parity::AutocastScope autocast(setting_);
    return forward();
  }();
  if (after_forward) after_forward();
  torch::autograd::backward({z.local()}, {output_gradient_});
  const map::Scope scope("reduce_gradients");
  reduce_gradients(model_->parameters(), *mesh_);
}

void PortSliceRun::clear_gradients() { clear(*model_); }

std::int64_t PortSliceRun::parameter_bytes() const { return bytes_of(*model_); }

std::int64_t PortSliceRun::parameter_bytes_of(const std::string& scope) const {
  const auto& m = *model_;
  if (scope == "input_embedder") return bytes_of(*m.input_embedder);
  if (scope == "tri_mul_out") return bytes_of(*m.tri_mul_out);
  if (scope == "tri_mul_in") return bytes_of(*m.tri_mul_in);
  if (scope == "transition_z") return bytes_of(*m.transition_z);
  if (scope == "reduce_gradients") return bytes_of(m);
  if (scope == "pair_init")
    return bytes_of(*m.pair_init->z_init_1) + bytes_of(*m.pair_init->z_init_2) + bytes_of(*m.pair_init->rel_pos) +
           bytes_of(*m.pair_init->token_bonds);
  return 0;
}

}  // namespace cpize::profile
