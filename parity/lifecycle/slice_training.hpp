// The training run that stop and go is proved with: the pair slice on two real structures, small widths, fp64.
#pragma once
#include "features/token_features.hpp"
#include "lifecycle/trainer.hpp"
#include "serial/pair_slice.hpp"
#include "trunk/pair_slice.hpp"

namespace cpize::parity {

inline constexpr std::int64_t slice_token_s = 8, slice_token_z = 8;

/// Trp-cage (1l2y, 20 residues) and the last 24 tokens of a polymerase complex (5ugo: DNA, ions, a ligand with bonds),
/// padded to one batch of 24 tokens: uneven on most meshes, with a mask that varies.
features::Features slice_batch();

/// Fixed, mesh-independent values for every parameter, drawn by name; none is zero or constant.
void draw_parameters(torch::nn::Module& module);

/// A rate that changes at each of the first six steps, clipping that bites, averaging, replicas compared at each step.
lifecycle::TrainerOptions slice_options();

/// This rank's model with drawn parameters. A collective: every rank of the mesh calls it.
lifecycle::TrainingModel slice_model(const features::Features& batch, const MeshPtr& mesh);

/// A run, or its continuation, as bits.
struct Steps {
  std::vector<double> losses, gradient_norms;
};

/// Trains on a mesh of ranks as threads. From the drawn parameters or, where it is not empty, from the checkpoint
/// `from`; `steps` more steps; then a checkpoint in `to`. What rank 0 saw, after every rank saw the same.
Steps train(const features::Features& batch, const MeshShape& mesh, const std::filesystem::path& from,
            std::int64_t steps, const std::filesystem::path& to);

}  // namespace cpize::parity
