// The training run that stop and go is proved with: the pair slice on two real structures, small widths, fp64.
#pragma once
#include "features/token_features.hpp"
#include "parity/phases/training_case.hpp"
#include "serial/pair_slice.hpp"
#include "trunk/pair_slice.hpp"

namespace cpize::parity {

inline constexpr std::int64_t slice_token_s = 8, slice_token_z = 8;
inline constexpr std::uint64_t slice_seed = 20240229;

/// Trp-cage (1l2y, 20 residues) and the last 24 tokens of a polymerase complex (5ugo: DNA, ions, a ligand with bonds),
/// padded to one batch of 24 tokens: uneven on most meshes, with a mask that varies.
features::Features slice_batch();

/// fp64, with parameters drawn from slice_seed.
void draw_slice(torch::nn::Module& slice);

/// A rate that changes at each of the first six steps, clipping that bites, averaging, replicas compared at each step.
lifecycle::TrainerOptions slice_options();

/// This rank's model with drawn parameters. A collective: every rank of the mesh calls it.
lifecycle::TrainingModel slice_model(const features::Features& batch, const MeshPtr& mesh);

/// Stop and go with it. The names that must be trained are the published ones.
TrainingCase slice_case(const features::Features& batch);

}  // namespace cpize::parity
