// Trainer: training steps of a context-parallel model, its checkpoints and its resumption.
//
//   forward -> each rank's share of the loss -> backward -> reduce_gradients -> all ranks agree that it is finite
//   -> clip -> AdamW -> average; every k steps all ranks compare their replicas
//
// It knows no model: bring a module and a function. Every rank constructs its own Trainer and calls the same methods at
// the same places. The random streams of step k are functions of (seed, k), so a resumed run continues them.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "layout/reduce_gradients.hpp"
#include "lifecycle/adamw.hpp"
#include "lifecycle/checkpoint.hpp"
#include "lifecycle/ema.hpp"
#include "lifecycle/learning_rate.hpp"
#include "mesh/device_mesh.hpp"

namespace cpize::lifecycle {

struct StepContext {
  std::uint64_t seed = 0;
  std::int64_t step = 0;  // optimizer steps done before this one
};

struct TrainingModel {
  std::shared_ptr<torch::nn::Module> module;  // replicated parameters, this rank's own leaves, on their device already
  /// Runs forward and returns this rank's share of the loss: a scalar with a graph, also where the rank has nothing to
  /// add. Shares sum to the loss, so denominators are global counts. It may communicate.
  std::function<at::Tensor(const StepContext&)> loss_share;
};

struct TrainerOptions {
  std::uint64_t seed = 0;
  LearningRate learning_rate;
  AdamWOptions adamw;
  double clip_norm = 10;  // of the global gradient norm; 0 does not clip
  std::optional<EmaOptions> ema = EmaOptions{};
  std::int64_t check_replicas_every = 100;  // steps; 0 never
  /// How partial gradients are finished. Parity tests plant wrong ones here and see them caught.
  std::function<void(const std::vector<at::Tensor>&, const DeviceMesh&)> finish_gradients = reduce_gradients;
};

struct StepResult {
  std::int64_t step = 0;  // optimizer steps done, this one included
  double loss = 0;        // of the whole batch, before the step
  double gradient_norm = 0;
  double learning_rate = 0;
};

class Trainer {
 public:
  /// ConfigError where nothing would be trained or an option is out of range.
  Trainer(TrainingModel model, MeshPtr mesh, TrainerOptions options);

  /// One training step. Error on every rank, and nothing is changed, where the loss or a gradient is not finite: it
  /// names them. ContractError on every rank where replicas differ (compared every check_replicas_every steps).
  StepResult step();

  /// Rank 0 writes the checkpoint; every rank returns, or throws, after it is there.
  void save(const std::filesystem::path& folder) const;

  /// Continues from a checkpoint of any mesh: weights, optimizer state, average, step. Bit for bit on the same mesh.
  /// Every rank reads the folder. InputError on some rank, PeerError on the others, and nothing is changed, where
  /// names, shapes or dtypes differ (all of them listed), where one has an average and the other not, or where the seed
  /// is another one. Rates, decay and the like are those of this Trainer's options.
  Manifest resume(const std::filesystem::path& folder);

  /// ContractError on every rank, naming the first tensor, unless all ranks hold the same bits.
  void check_replicas() const;

  std::int64_t steps_done() const { return step_; }
  const AdamW& optimizer() const { return optimizer_; }
  const std::optional<Ema>& ema() const { return ema_; }

 private:
  Checkpoint checkpoint() const;
  double agreed_loss(const at::Tensor& share) const;
  void agree_finite(double loss, double norm) const;

  TrainingModel model_;
  MeshPtr mesh_;
  TrainerOptions options_;
  AdamW optimizer_;
  std::optional<Ema> ema_;
  std::int64_t step_ = 0;
};

}  // namespace cpize::lifecycle
