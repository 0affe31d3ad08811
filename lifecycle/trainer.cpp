#include "lifecycle/trainer.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "comm/agree.hpp"
#include "error/error.hpp"
#include "lifecycle/fingerprint.hpp"

namespace cpize::lifecycle {
namespace {

/// The shortest text that reads back as the same double.
std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::map<std::string, std::string> describe(const TrainerOptions& o) {
  std::map<std::string, std::string> text{{"learning_rate.base", text_of(o.learning_rate.base)},
                                          {"learning_rate.peak", text_of(o.learning_rate.peak)},
                                          {"learning_rate.warmup_steps", std::to_string(o.learning_rate.warmup_steps)},
                                          {"learning_rate.decay_after", std::to_string(o.learning_rate.decay_after)},
                                          {"learning_rate.decay_every", std::to_string(o.learning_rate.decay_every)},
                                          {"learning_rate.decay_factor", text_of(o.learning_rate.decay_factor)},
                                          {"adamw.beta1", text_of(o.adamw.beta1)},
                                          {"adamw.beta2", text_of(o.adamw.beta2)},
                                          {"adamw.epsilon", text_of(o.adamw.epsilon)},
                                          {"adamw.weight_decay", text_of(o.adamw.weight_decay)},
                                          {"clip_norm", text_of(o.clip_norm)}};
  for (const auto& part : o.adamw.no_decay)
    text["adamw.no_decay"] += (text["adamw.no_decay"].empty() ? "" : ",") + part;
  if (o.ema) {
    text["ema.decay"] = text_of(o.ema->decay);
    text["ema.warm_start"] = o.ema->warm_start ? "true" : "false";
    text["ema.every"] = std::to_string(o.ema->every);
    text["ema.start"] = std::to_string(o.ema->start);
  }
  return text;
}

void note(std::string& problems, const char* file, const NameDifferences& differences) {
  if (!differences.empty()) problems += (problems.empty() ? "" : "; ") + std::string(file) + ": " + differences.str();
}

}  // namespace

Trainer::Trainer(TrainingModel model, MeshPtr mesh, TrainerOptions options)
    : model_(std::move(model)),
      mesh_(std::move(mesh)),
      options_(std::move(options)),
      optimizer_(trainable_parameters(*model_.module), options_.adamw) {
  if (!(options_.clip_norm >= 0)) throw ConfigError("trainer: clip_norm must not be negative");
  if (options_.check_replicas_every < 0) throw ConfigError("trainer: check_replicas_every must not be negative");
  static_cast<void>(options_.learning_rate.at(0));  // out of range: now, not after a step
  if (options_.ema) ema_.emplace(state_of(*model_.module), *options_.ema);
}

StepResult Trainer::step() {
  const NamedTensors& parameters = optimizer_.parameters();
  for (const auto& [name, p] : parameters) at::Tensor(p).mutable_grad().reset();
  double loss = 0;
  {
    const at::Tensor share = model_.loss_share({options_.seed, step_});
    comm::agree_after(*mesh_, [&] {
      if (!share.defined() || share.dim() != 0 || !share.requires_grad())
        throw ContractError("trainer: loss_share must return a scalar that requires a gradient");
    });
    loss = agreed_loss(share.detach());
    share.backward();
  }
  options_.finish_gradients(tensors_of(parameters), *mesh_);
  const double norm = gradient_norm(parameters);
  agree_finite(loss, norm);
  if (options_.clip_norm > 0) clip_gradients(parameters, norm, options_.clip_norm);
  const double rate = options_.learning_rate.at(step_);
  optimizer_.step(rate);
  ++step_;
  if (ema_) ema_->update(step_);
  if (options_.check_replicas_every > 0 && step_ % options_.check_replicas_every == 0) check_replicas();
  return {step_, loss, norm, rate};
}

double Trainer::agreed_loss(const at::Tensor& share) const {
  double loss = 0;  // added in rank order: the same bits everywhere
  for (const std::int64_t bits :
       comm::gather_numbers(*mesh_, std::bit_cast<std::int64_t>(share.to(at::kDouble).item<double>())))
    loss += std::bit_cast<double>(bits);
  return loss;
}

void Trainer::agree_finite(double loss, double norm) const {
  std::int64_t bad_ranks = 0;
  const bool bad = !std::isfinite(loss) || !std::isfinite(norm);
  for (const std::int64_t theirs : comm::gather_numbers(*mesh_, bad ? 1 : 0)) bad_ranks += theirs;
  if (bad_ranks == 0) return;
  std::string names;
  for (const auto& [name, p] : optimizer_.parameters())
    if (!at::isfinite(p.grad()).all().item<bool>()) names += (names.empty() ? "" : ", ") + name;
  throw Error("step " + std::to_string(step_ + 1) + " is not finite on " + std::to_string(bad_ranks) + " of " +
              std::to_string(mesh_->size()) + " ranks: loss " + text_of(loss) + ", gradient norm " + text_of(norm) +
              (names.empty() ? ", every gradient is finite by itself" : ", gradients that are not: " + names) +
              ". Weights and optimizer state are those before this step");
}

void Trainer::check_replicas() const {
  const Tensors state = by_name(state_of(*model_.module));
  // Every rank gets all numbers and so decides alike; the names are worth their collectives only where something is
  // wrong.
  const auto all = comm::gather_numbers(*mesh_, static_cast<std::int64_t>(fingerprint(state)));
  if (std::ranges::all_of(all, [&](std::int64_t theirs) { return theirs == all[0]; })) return;
  for (const auto& [name, tensor] : state)
    comm::agree_equal(*mesh_, "step " + std::to_string(step_) + ": fingerprint of replicated tensor '" + name + "'",
                      static_cast<std::int64_t>(fingerprint(name, tensor)));
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint checkpoint;
  checkpoint.manifest = {step_, options_.seed, mesh_->shape().str(), describe(options_)};
  checkpoint.weights = by_name(state_of(*model_.module));
  checkpoint.optimizer = by_name(optimizer_.state());
  if (ema_) checkpoint.ema = by_name(ema_->average());
  return checkpoint;
}

void Trainer::save(const std::filesystem::path& folder) const {
  comm::agree_after(*mesh_, [&] {
    if (mesh_->rank() == 0) write_checkpoint(folder, checkpoint());
  });
}

Manifest Trainer::resume(const std::filesystem::path& folder) {
  Checkpoint checkpoint;
  const NamedTensors weights = state_of(*model_.module), moments = optimizer_.state();
  comm::agree_after(*mesh_, [&] {
    checkpoint = read_checkpoint(folder);
    std::string problems;
    note(problems, "weights", compare_names(weights, checkpoint.weights, DtypeRule::same));
    note(problems, "optimizer", compare_names(moments, checkpoint.optimizer, DtypeRule::same));
    if (ema_ && checkpoint.ema) note(problems, "ema", compare_names(ema_->average(), *checkpoint.ema, DtypeRule::same));
    if (ema_.has_value() != checkpoint.ema.has_value())
      problems +=
          (problems.empty() ? "" : "; ") + std::string(ema_ ? "it has no weight average and this run keeps one"
                                                            : "it has a weight average and this run keeps none");
    if (checkpoint.manifest.seed != options_.seed)
      problems += (problems.empty() ? "" : "; ") + std::string("its seed is ") +
                  std::to_string(checkpoint.manifest.seed) + ", this run's " + std::to_string(options_.seed) +
                  " would not continue its random streams";
    if (!problems.empty()) throw InputError(folder.string(), "does not fit this run: " + problems);
  });
  assign(weights, checkpoint.weights);
  assign(moments, checkpoint.optimizer);
  if (ema_) assign(ema_->average(), *checkpoint.ema);
  step_ = checkpoint.manifest.step;
  check_replicas();
  return checkpoint.manifest;
}

}  // namespace cpize::lifecycle
