#include "layout/exchange.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

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

}  // namespace

at::Tensor narrow_to(at::Tensor t, const Box& at) {
  for (std::size_t d = 0; d < at.low.size(); ++d)
    if (at.size[d] != t.size(static_cast<std::int64_t>(d)))
      t = t.narrow(static_cast<std::int64_t>(d), at.low[d], at.size[d]);
  return t;
}

ExchangeInFlight::ExchangeInFlight(at::Tensor local, const Spec& from, const Spec& to, const Shape& global,
                                   const MeshPtr& mesh)
    : local_(std::move(local)),
      from_(from),
      to_(to),
      mesh_(mesh),
      plan_(plan_exchange(from, to, global, mesh->shape(), mesh->rank())),
      order_(order_for(to, global.size())) {
  if (local_.sizes() != at::IntArrayRef(plan_.from.size))
    throw ContractError("rank " + std::to_string(mesh->rank()) + " of mesh " + mesh->shape().str() +
                        " brings a local tensor " + text_of(local_.sizes()) + " to " + from.str() + ", its shard of " +
                        text_of(global) + " is " + text_of(plan_.from.size));
  if (same_distribution(from, to) || mesh->size() == 1) return;

  std::vector<std::int64_t> send_splits(mesh->size(), 0), receive_splits(mesh->size(), 0);
  std::int64_t to_send = 0, to_receive = 0;
  for (const auto& piece : plan_.send)
    if (piece.peer != mesh->rank()) to_send += send_splits[piece.peer] = piece.at.numel();
  for (const auto& piece : plan_.receive)
    if (piece.peer != mesh->rank()) to_receive += receive_splits[piece.peer] = piece.at.numel();

  {
    RECORD_USER_SCOPE("exchange.pack");
    send_ = at::empty({to_send}, local_.options());
    std::int64_t offset = 0;
    for (const auto& piece : plan_.send) {
      if (piece.peer == mesh->rank()) continue;
      const auto count = piece.at.numel();
      send_.narrow(0, offset, count)
          .view(permuted(piece.at.size, order_))
          .copy_(narrow_to(local_, piece.at).permute(order_));
      offset += count;
    }
    receive_ = at::empty({to_receive}, local_.options());
  }
  RECORD_USER_SCOPE("exchange.post");
  comm::CallSite site("exchange " + from.str() + " -> " + to.str() + " of " + text_of(global));
  work_ = mesh->backend().alltoall_base(receive_, send_, receive_splits, send_splits);
  mesh->traffic().count(to_send * local_.element_size());
}

at::Tensor ExchangeInFlight::finish() {
  if (std::exchange(finished_, true)) throw ContractError("an exchange can be finished only once");
  const Shape back = inverse(order_);
  if (!work_) {
    const bool in_order = local_.permute(order_).is_contiguous() || from_.memory_order == to_.memory_order;
    return in_order ? local_ : local_.permute(order_).contiguous().permute(back);
  }
  {
    RECORD_USER_SCOPE("exchange.wait");
    work_->wait();
  }
  work_.reset();
  send_.reset();

  RECORD_USER_SCOPE("exchange.unpack");
  const Shape stored = permuted(plan_.to.size, order_);
  at::Tensor out =
      (plan_.needs_zero ? at::zeros(stored, local_.options()) : at::empty(stored, local_.options())).permute(back);
  const Piece* mine = nullptr;
  for (const auto& piece : plan_.send)
    if (piece.peer == mesh_->rank()) mine = &piece;
  std::int64_t offset = 0;
  for (const auto& piece : plan_.receive) {
    at::Tensor target = narrow_to(out, piece.at);
    at::Tensor value;
    if (piece.peer == mesh_->rank()) {
      value = narrow_to(local_, mine->at);
    } else {
      const auto count = piece.at.numel();
      value = receive_.narrow(0, offset, count).view(permuted(piece.at.size, order_)).permute(back);
      offset += count;
    }
    plan_.adds ? target.add_(value) : target.copy_(value);
  }
  local_.reset();
  receive_.reset();
  return out;
}

at::Tensor exchange(const at::Tensor& local, const Spec& from, const Spec& to, const Shape& global,
                    const MeshPtr& mesh) {
  return ExchangeInFlight(local, from, to, global, mesh).finish();
}

}  // namespace cpize
