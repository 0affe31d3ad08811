#include "layout/exchange.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "comm/call_site.hpp"
#include "error/error.hpp"

namespace cpize {
namespace {

std::string text_of(at::IntArrayRef sizes) {
  std::ostringstream text;
  text << sizes;
  return text.str();
}

Shape order_for(const Spec& to, std::size_t dims) {
  Shape order;
  for (auto d : to.memory_order)
    if (static_cast<std::size_t>(d) < dims) order.push_back(d);
  return order;
}

Shape inverse(const Shape& order) {
  Shape back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return back;
}

Shape permuted(const Shape& sizes, const Shape& order) {
  Shape out;
  for (auto d : order) out.push_back(sizes[d]);
  return out;
}

/// What is left of a spec on a mesh: an axis of one rank cuts nothing and sums nothing.
Spec on(const MeshShape& mesh, Spec spec) {
  const auto one = [&](Axis a) { return mesh.extent(a) == 1; };
  for (auto& cut : spec.cut) {
    Spec::Cut left;
    for (int i = 0; i < cut.axes; ++i)
      if (!one(cut.axis[i])) left.axis[left.axes++] = cut.axis[i];
    cut = left;
  }
  for (Axis a : all_axes) spec.partial[index_of(a)] &= !one(a);
  return spec;
}

}  // namespace

at::Tensor narrow_to(at::Tensor t, const Box& at) {
  for (std::size_t d = 0; d < at.low.size(); ++d)
    if (at.size[d] != t.size(static_cast<std::int64_t>(d)))
      t = t.narrow(static_cast<std::int64_t>(d), at.low[d], at.size[d]);
  return t;
}

ExchangeInFlight::ExchangeInFlight(at::Tensor local, const Spec& from, const Spec& to, const Shape& global,
                                   const MeshPtr& mesh)
    : ExchangeInFlight(std::move(local), from, to, global, mesh, std::nullopt, {}) {}

ExchangeInFlight::ExchangeInFlight(at::Tensor local, const Spec& from, const Spec& to, const Shape& global,
                                   const MeshPtr& mesh, const ExchangeWindow& window, at::Tensor out)
    : ExchangeInFlight(std::move(local), from, to, global, mesh, std::optional(window), std::move(out)) {
  if (!moves_)
    throw ContractError("a window of an exchange " + from.str() + " -> " + to.str() + " that moves nothing on mesh " +
                        mesh->shape().str());
}

ExchangeInFlight::ExchangeInFlight(at::Tensor local, const Spec& from, const Spec& to, const Shape& global,
                                   const MeshPtr& mesh, const std::optional<ExchangeWindow>& window, at::Tensor out)
    : local_(std::move(local)),
      options_(local_.options()),
      from_(from),
      to_(to),
      mesh_(mesh),
      plan_(plan_exchange(from, to, global, mesh->shape(), mesh->rank(), window)),
      order_(order_for(to, global.size())),
      out_(std::move(out)) {
  if (local_.sizes() != at::IntArrayRef(plan_.from.size))
    throw ContractError("rank " + std::to_string(mesh->rank()) + " of mesh " + mesh->shape().str() +
                        " brings a local tensor " + text_of(local_.sizes()) + " to " + from.str() + ", its shard of " +
                        text_of(global) + " is " + text_of(plan_.from.size));
  if (out_.defined() && out_.sizes() != at::IntArrayRef(plan_.to.size))
    throw ContractError("an exchange to " + to.str() + " of " + text_of(global) + " takes a target of " +
                        text_of(plan_.to.size) + ", got " + text_of(out_.sizes()));
  if (same_distribution(on(mesh->shape(), from), on(mesh->shape(), to))) return;
  moves_ = true;

  std::vector<at::Tensor> send(mesh->size());
  std::vector<std::int64_t> counts(mesh->size(), 0);
  for (const auto& piece : plan_.send)
    if (piece.peer != mesh->rank()) send[piece.peer] = narrow_to(local_, piece.at).permute(order_);
  for (const auto& piece : plan_.receive)
    if (piece.peer != mesh->rank()) counts[piece.peer] = piece.at.numel();
  const comm::CallSite site("exchange " + from.str() + " -> " + to.str() + " of " + text_of(global));
  pieces_ = comm::PiecesInFlight(*mesh, std::move(send), std::move(counts), options_, [this](int rank) {
    return plan_.adds ? at::Tensor() : place_of(*received_from(rank)).permute(order_);
  });
  if (!pieces_.straight() || plan_.adds) return;
  RECORD_USER_SCOPE("exchange.unpack");
  put_own();  // while the others travel
}

const Piece* ExchangeInFlight::received_from(int rank) const {
  const auto piece = std::ranges::find(plan_.receive, rank, &Piece::peer);
  return piece == plan_.receive.end() ? nullptr : &*piece;
}

at::Tensor ExchangeInFlight::place_of(const Piece& piece) {
  if (!out_.defined()) {
    const Shape stored = permuted(plan_.to.size, order_);
    out_ = (plan_.needs_zero ? at::zeros(stored, options_) : at::empty(stored, options_)).permute(inverse(order_));
  }
  return narrow_to(out_, piece.at);
}

void ExchangeInFlight::put(const Piece& piece, const at::Tensor& value) {
  at::Tensor place = place_of(piece);
  plan_.adds ? place.add_(value) : place.copy_(value);
}

void ExchangeInFlight::put_own() {
  if (!local_.defined()) return;
  if (const Piece* here = received_from(mesh_->rank()))
    put(*here, narrow_to(local_, std::ranges::find(plan_.send, mesh_->rank(), &Piece::peer)->at));
  local_.reset();
}

at::Tensor ExchangeInFlight::finish() {
  if (std::exchange(finished_, true)) throw ContractError("an exchange can be finished only once");
  const Shape back = inverse(order_);
  if (!moves_) {
    const bool in_order = local_.permute(order_).is_contiguous() || from_.memory_order == to_.memory_order;
    return in_order ? local_ : local_.permute(order_).contiguous().permute(back);
  }
  pieces_.finish([&](int rank, const at::Tensor& elements) {
    if (rank > mesh_->rank()) put_own();  // sums run in the order of ranks
    const Piece& piece = *received_from(rank);
    put(piece, elements.view(permuted(piece.at.size, order_)).permute(back));
  });
  RECORD_USER_SCOPE("exchange.unpack");
  put_own();
  if (!out_.defined()) out_ = at::zeros(permuted(plan_.to.size, order_), options_).permute(back);  // nothing came
  return std::move(out_);
}

at::Tensor exchange(const at::Tensor& local, const Spec& from, const Spec& to, const Shape& global,
                    const MeshPtr& mesh) {
  return ExchangeInFlight(local, from, to, global, mesh).finish();
}

}  // namespace cpize
