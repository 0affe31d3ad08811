#include "proof/step.hpp"

#include "layout/reduce_gradients.hpp"
#include "lifecycle/draw_parameters.hpp"
#include "map/scope.hpp"

namespace contactnet {

using namespace cpize;

ContactNet small_net() {
  ContactNet net(model::Options{});
  net->to(at::kDouble);
  lifecycle::draw_parameters(*net, /*seed=*/7);
  return net;
}

at::Tensor loss_share(const Sharded<PerMap>& score, const at::Tensor& target) {
  // The score is the same on all ranks that have the map: one of them owns its share, the others add nothing.
  const double owner = is_owner(PerMap::spec, score.mesh()->coordinates()) ? 1 : 0;
  return owner * (score.local() - target).square().sum() / static_cast<double>(score.global()[0]);
}

profile::Step training_step(const MeshPtr& mesh, std::int64_t n) {
  const std::int64_t b = mesh->shape().extent(dp);
  const auto height = shard<Pair>(at::linspace(-1, 1, b * n * n, at::kDouble).view({b, n, n}), mesh);
  const auto present = shard<Single>(at::ones({b, n}, at::kDouble), mesh);
  return [=, net = small_net()](const profile::AfterForward& after_forward) mutable {
    const auto score = net(height, present);
    if (after_forward) after_forward();
    {
      const map::Scope scope("loss");
      loss_share(score, at::ones_like(score.local())).backward();
    }
    const map::Scope scope("reduce_gradients");
    reduce_gradients(net->parameters(), *mesh);
  };
}

}  // namespace contactnet
