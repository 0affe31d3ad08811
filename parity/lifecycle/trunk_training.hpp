// The training run that stop and go is proved with: the trunk on two real structures, small widths, fp64, dropout on.
#pragma once
#include "features/token_features.hpp"
#include "parity/phases/training_case.hpp"
#include "serial/trunk.hpp"
#include "trunk/recycling/trunk.hpp"

namespace cpize::parity {

inline constexpr std::uint64_t trunk_seed = 20240229;

/// Trp-cage (1l2y, 20 residues, taken as a ring) and the last 24 tokens of a polymerase complex (5ugo: DNA, ions, a
/// ligand with bonds, a contact asked for), each with a few rows of MSA, padded to one batch of 24 tokens: uneven on
/// most meshes, with masks that vary, and a gradient for every parameter.
features::Features trunk_batch();

/// Widths of the run, and its dropout.
serial::TrunkOptions serial_trunk_options();

/// The parameters of fp64 models, drawn from trunk_seed.
void draw_trunk(torch::nn::Module& trunk);

/// A rate that changes at each of the first six steps, clipping that bites, averaging, replicas compared at each step.
lifecycle::TrainerOptions training_options();

/// The stream of a step's dropout.
random::Stream dropout_stream(std::uint64_t seed, std::int64_t step);
/// The outputs that are trained, in order, and the stream of each one's target at a step.
random::Stream target_stream(const std::string& output, std::uint64_t seed, std::int64_t step);

/// This rank's model with drawn parameters. A collective: every rank of the mesh calls it.
lifecycle::TrainingModel trunk_model(const features::Features& batch, const MeshPtr& mesh);

/// Stop and go with it. The names that must be trained are the published ones.
TrainingCase trunk_training(const features::Features& batch);

}  // namespace cpize::parity
