// redistribute<To>(x): the only operation that moves activations between ranks. Its backward is the exact adjoint.
//
//   auto row = redistribute<SingleRow>(s);                      // all-gather over cp1
//   auto s2  = redistribute<Single>(wrap<Partial<SingleRow, cp1>>(o, shape, mesh));   // reduce-scatter
//
// From and To must be of one family, else it does not compile. Communication: one exchange over the whole mesh,
// none where only the memory order changes; every rank calls it. Backward moves the gradient dual(To) -> dual(From): a
// replicated activation's gradient is a partial sum, a partial sum's gradient is replicated (layout/README.md). Integer
// and bool tensors move too; they have no gradient.
#pragma once
#include <memory>

#include "layout/sharded.hpp"

namespace cpize {

namespace detail {
at::Tensor redistribute(const at::Tensor& local, const Spec& from, const Spec& to, const Shape& global,
                        const MeshPtr& mesh);

struct PendingState;
struct PendingExchange {
  at::Tensor token;  // carries the autograd graph from start to finish
  std::shared_ptr<PendingState> state;
};
PendingExchange start_redistribute(const at::Tensor& local, const Spec& from, const Spec& to, const Shape& global,
                                   const MeshPtr& mesh);
at::Tensor finish_redistribute(const PendingExchange& pending);
}  // namespace detail

template <class To, class From>
concept SameFamily = IsLayout<To> && IsLayout<From> && std::same_as<typename To::Family, typename From::Family>;

template <class To, class From>
requires SameFamily<To, From> Sharded<To> redistribute(const Sharded<From>& x) {
  return {detail::redistribute(x.local(), From::spec, To::spec, x.global(), x.mesh()), x.global(), x.mesh()};
}

/// The run-time form. Same family by construction.
inline AnySharded redistribute(const AnySharded& x, const Spec& to) {
  return {detail::redistribute(x.local(), x.spec(), to, x.global(), x.mesh()), to, x.family(), x.global(), x.mesh()};
}

/// True where redistribute<To>(Sharded<From>) compiles.
template <class From, class To>
inline constexpr bool can_redistribute = requires(const Sharded<From>& x) {
  redistribute<To>(x);
};

/// A redistribution that was started: compute something else, then finish() once. Backward overlaps the same way.
template <class To>
class Pending {
 public:
  Pending(detail::PendingExchange pending, Shape global, MeshPtr mesh)
      : pending_(std::move(pending)), global_(std::move(global)), mesh_(std::move(mesh)) {}
  Sharded<To> finish() { return {detail::finish_redistribute(pending_), global_, mesh_}; }

 private:
  detail::PendingExchange pending_;
  Shape global_;
  MeshPtr mesh_;
};

template <class To, class From>
requires SameFamily<To, From> Pending<To> start_redistribute(const Sharded<From>& x) {
  return {detail::start_redistribute(x.local(), From::spec, To::spec, x.global(), x.mesh()), x.global(), x.mesh()};
}

}  // namespace cpize
