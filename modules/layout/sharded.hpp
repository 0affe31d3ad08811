// Sharded<L>: this rank's shard of a distributed tensor, with its layout as a type. AnySharded: the same, the layout a
// value.
//
// A Sharded never converts to a plain tensor implicitly. Between redistributions work on `local()` with plain libtorch
// and put the result back with `with()` (same leading dimensions) or `wrap<L>()` (any global shape).
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

#include "layout/exchange.hpp"
#include "layout/layouts.hpp"
#include "mesh/device_mesh.hpp"

namespace cpize {

namespace detail {
/// ContractError unless `local` is the shard of `global` that `spec` gives this rank.
void check_shard(const at::Tensor& local, const Spec& spec, const Shape& global, const DeviceMesh& mesh);
/// The first `rank` entries of `global`, then the trailing sizes of `local`.
Shape with_trailing(const Shape& global, int rank, const at::Tensor& local);
at::Tensor cut_shard(const at::Tensor& full, const Spec& spec, const DeviceMesh& mesh);
}  // namespace detail

template <class L>
class Sharded {
 public:
  /// ContractError unless `local` is this rank's shard of a tensor of shape `global` in layout L.
  Sharded(at::Tensor local, Shape global, MeshPtr mesh)
      : local_(std::move(local)), global_(std::move(global)), mesh_(std::move(mesh)) {
    static_assert(IsLayout<L>);
    detail::check_shard(local_, L::spec, global_, *mesh_);
  }

  const at::Tensor& local() const { return local_; }
  const Shape& global() const { return global_; }
  const MeshPtr& mesh() const { return mesh_; }

  /// A tensor with the same leading (layout) dimensions and other trailing ones: channels, heads, none.
  Sharded with(at::Tensor local) const {
    Shape global = detail::with_trailing(global_, L::spec.rank, local);
    return {std::move(local), std::move(global), mesh_};
  }

 private:
  at::Tensor local_;
  Shape global_;
  MeshPtr mesh_;
};

/// The global shape is stated, never inferred.
template <class L>
Sharded<L> wrap(at::Tensor local, Shape global, MeshPtr mesh) {
  return {std::move(local), std::move(global), std::move(mesh)};
}

/// Cuts this rank's shard out of a tensor that every rank holds whole. No communication; the shard is a copy.
template <class L>
Sharded<L> shard(const at::Tensor& full, const MeshPtr& mesh) {
  return {detail::cut_shard(full, L::spec, *mesh), full.sizes().vec(), mesh};
}

/// A shard whose layout is known only at run time (a feature read from a table, say).
class AnySharded {
 public:
  /// `family` is a family's name (layouts.hpp): layouts of different families never convert.
  AnySharded(at::Tensor local, Spec spec, std::string family, Shape global, MeshPtr mesh);

  template <class L>
  AnySharded(const Sharded<L>& x) : AnySharded(x.local(), L::spec, L::Family::name, x.global(), x.mesh()) {}

  /// ContractError unless this is layout L of L's family.
  template <class L>
  Sharded<L> as() const {
    check_is(L::spec, L::Family::name);
    return {local_, global_, mesh_};
  }

  const at::Tensor& local() const { return local_; }
  const Spec& spec() const { return spec_; }
  const std::string& family() const { return family_; }
  const Shape& global() const { return global_; }
  const MeshPtr& mesh() const { return mesh_; }

 private:
  void check_is(const Spec& spec, const std::string& family) const;

  at::Tensor local_;
  Spec spec_;
  std::string family_;
  Shape global_;
  MeshPtr mesh_;
};

}  // namespace cpize
