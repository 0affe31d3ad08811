// exchange: changes the layout of a local tensor, without autograd. The one place where activations are packed and
// sent.
//
// `redistribute` is this with types and a gradient; hand-written autograd functions call it directly. Communication: at
// most one exchange of pieces (comm/pieces.hpp) over the whole mesh; none where the distribution does not change. Every
// rank of the mesh must call it. Pieces travel in the receiver's memory order; a piece for oneself is a copy. Sums run
// in rank order, so that replicas come out bit-identical.
#pragma once
#include <ATen/core/Tensor.h>

#include "comm/pieces.hpp"
#include "layout/exchange_plan.hpp"
#include "mesh/device_mesh.hpp"

namespace cpize {

/// `local`: this rank's shard of a tensor of shape `global` in layout `from` (ContractError if its shape is another),
/// any strides, any dtype. Returns the shard in layout `to`, stored in to.memory_order. May alias `local` where nothing
/// moves.
at::Tensor exchange(const at::Tensor& local, const Spec& from, const Spec& to, const Shape& global,
                    const MeshPtr& mesh);

/// An exchange on its way: started, to be awaited once with finish(). Between the two, compute something else.
class ExchangeInFlight {
 public:
  ExchangeInFlight(at::Tensor local, const Spec& from, const Spec& to, const Shape& global, const MeshPtr& mesh);
  /// A window of an exchange between different distributions. `local` and what finish() returns are windowed as
  /// ExchangePlan says; with `out`, the target shard or its window, what arrives is written there.
  ExchangeInFlight(at::Tensor local, const Spec& from, const Spec& to, const Shape& global, const MeshPtr& mesh,
                   const ExchangeWindow& window, at::Tensor out = {});
  at::Tensor finish();

 private:
  ExchangeInFlight(at::Tensor local, const Spec& from, const Spec& to, const Shape& global, const MeshPtr& mesh,
                   const std::optional<ExchangeWindow>& window, at::Tensor out);
  const Piece* received_from(int rank) const;
  at::Tensor place_of(const Piece& piece);
  void put(const Piece& piece, const at::Tensor& value);
  void put_own();

  at::Tensor local_;  // kept for the piece that goes to oneself
  at::TensorOptions options_;
  Spec from_, to_;
  MeshPtr mesh_;
  ExchangePlan plan_;
  Shape order_;  // memory order of the target, restricted to the dimensions there are
  bool moves_ = false;
  comm::PiecesInFlight pieces_;
  at::Tensor out_;  // the target, from the first piece on
  bool finished_ = false;
};

/// The sub-tensor of `t` that `at` describes (a view).
at::Tensor narrow_to(at::Tensor t, const Box& at);

}  // namespace cpize
