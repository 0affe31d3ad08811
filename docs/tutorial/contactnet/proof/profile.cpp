// Phase 6: who holds memory in a step, against budgets.
#include "parity/phases/profile_case.hpp"
#include "proof/step.hpp"

using namespace cpize;

static constexpr double kSize = 64, kChannels = 16, kHeads = 2;

/// `tensors` times this rank's share of a map with all its channels, and what does not depend on N.
static parity::ProfileCase::Budget maps(double tensors) {
  return [=](const MeshShape& mesh) { return 8 * tensors * kSize * kSize * kChannels / mesh.cp_size() + 8 * 65536; };
}

/// Attention within rows also holds N logits a cell and head, a few times over: O(N^3 / Q).
static double attention(const MeshShape& mesh) {
  return maps(16)(mesh) + 8 * 5 * kHeads * kSize * kSize * kSize / mesh.cp_size();
}

static parity::ProfileCase contact_net() {
  return parity::ProfileCase("contact net")
      .step([](const MeshPtr& mesh) { return contactnet::training_step(mesh, static_cast<std::int64_t>(kSize)); })
      .budget("embed", maps(4))
      .budget("rows", attention)
      .budget("columns", attention)
      .budget("head", maps(6))
      .budget("loss", maps(1))
      .budget("reduce_gradients", maps(1));
}

CPIZE_PROFILE_MAIN(contact_net)
