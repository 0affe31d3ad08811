#include "layout/sharded.hpp"

#include <ATen/ATen.h>

#include <sstream>

#include "error/error.hpp"

namespace cpize {
namespace detail {

void check_shard(const at::Tensor& local, const Spec& spec, const Shape& global, const DeviceMesh& mesh) {
  const Box box = box_of(spec, global, mesh.shape(), mesh.coordinates());
  if (local.sizes() == at::IntArrayRef(box.size)) return;
  std::ostringstream text;
  text << "wrap: a local tensor of " << local.sizes() << " is not the shard " << at::IntArrayRef(box.size) << " ("
       << box.str() << ") that " << spec.str() << " gives rank " << mesh.rank() << " of mesh " << mesh.shape().str()
       << " of a global " << at::IntArrayRef(global);
  throw ContractError(text.str());
}

Shape with_trailing(const Shape& global, int rank, const at::Tensor& local) {
  Shape out(global.begin(), global.begin() + rank);
  for (std::int64_t d = rank; d < local.dim(); ++d) out.push_back(local.size(d));
  return out;
}

at::Tensor cut_shard(const at::Tensor& full, const Spec& spec, const DeviceMesh& mesh) {
  const at::Tensor cut = narrow_to(full, box_of(spec, full.sizes().vec(), mesh.shape(), mesh.coordinates()));
  Shape order, back(full.dim());
  for (auto d : spec.memory_order)
    if (d < full.dim()) {
      back[d] = static_cast<std::int64_t>(order.size());
      order.push_back(d);
    }
  return cut.permute(order).clone(at::MemoryFormat::Contiguous).permute(back);
}

}  // namespace detail

AnySharded::AnySharded(at::Tensor local, Spec spec, std::string family, Shape global, MeshPtr mesh)
    : local_(std::move(local)),
      spec_(spec),
      family_(std::move(family)),
      global_(std::move(global)),
      mesh_(std::move(mesh)) {
  detail::check_shard(local_, spec_, global_, *mesh_);
}

void AnySharded::check_is(const Spec& spec, const std::string& family) const {
  if (family != family_)
    throw ContractError("a tensor of the family '" + family_ + "' was taken for one of '" + family + "'");
  if (!(spec == spec_))
    throw ContractError("a tensor in layout " + spec_.str() + " was taken for " + spec.str() +
                        "; redistribute it first");
}

}  // namespace cpize
