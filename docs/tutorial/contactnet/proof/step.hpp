// One training step of the net on random maps of size n: what phases 4, 6 and 7 run.
#pragma once
#include "ports/contact_net.hpp"
#include "profile/step.hpp"

namespace contactnet {

/// A small net, the same on every rank.
ContactNet small_net();

/// Forward, backward from each rank's share of the loss, reduce_gradients.
cpize::profile::Step training_step(const cpize::MeshPtr& mesh, std::int64_t n);

/// This rank's share of the mean squared distance to `target` [B,1] over the B maps of the whole batch.
at::Tensor loss_share(const cpize::Sharded<PerMap>& score, const at::Tensor& target);

}  // namespace contactnet
