#include "parity/harness/assemble.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"

namespace cpize::parity {

at::Tensor assemble(const std::vector<at::Tensor>& locals, const Spec& spec, const Shape& global,
                    const MeshShape& mesh) {
  if (static_cast<int>(locals.size()) != mesh.size())
    throw ContractError("assemble: " + std::to_string(locals.size()) + " shards for a mesh of " + mesh.str());
  at::NoGradGuard no_grad;
  at::Tensor full = at::zeros(global, locals[0].options().requires_grad(false));
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const Coordinates at = mesh.coordinates(rank);
    const Box box = box_of(spec, global, mesh, at);
    if (locals[rank].sizes() != at::IntArrayRef(box.size))
      throw ContractError("assemble: rank " + std::to_string(rank) + " holds a shard that does not fit its box " +
                          box.str() + " of layout " + spec.str());
    if (is_owner(spec, at)) narrow_to(full, box).add_(locals[rank].to(full.scalar_type()));
  }
  return full;
}

at::Tensor assemble(const AnySharded& x) {
  at::NoGradGuard no_grad;
  const Spec whole{};
  return exchange(x.local().detach(), x.spec(), whole, x.global(), x.mesh()).clone();
}

}  // namespace cpize::parity
