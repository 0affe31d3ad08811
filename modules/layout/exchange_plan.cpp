#include "layout/exchange_plan.hpp"

#include <algorithm>

#include "error/error.hpp"

namespace cpize {
namespace {

bool meets(const Spec& from, const Spec& to, const Coordinates& source, const Coordinates& target) {
  for (Axis a : all_axes) {
    const bool same_line = from.replicated(a) || to.is_partial(a);
    if (same_line && source[a] != target[a]) return false;
    if (from.replicated(a) && to.is_partial(a) && target[a] != 0) return false;
  }
  return true;
}

void add_piece(std::vector<Piece>& pieces, int peer, const Box& mine, const Box& theirs) {
  Box both = intersect(mine, theirs);
  if (both.numel() == 0) return;
  for (std::size_t d = 0; d < both.low.size(); ++d) both.low[d] -= mine.low[d];
  pieces.push_back({peer, both});
}

Box windowed(Box box, const std::optional<ExchangeWindow>& window, ExchangeWindow::Side side) {
  if (!window || window->side != side) return box;
  std::int64_t &low = box.low[window->dimension], &size = box.size[window->dimension];
  const std::int64_t begin = std::min(window->begin, size);
  low += begin;
  size = std::min(window->count, size - begin);
  return box;
}

}  // namespace

ExchangePlan plan_exchange(const Spec& from, const Spec& to, const Shape& global, const MeshShape& mesh, int rank,
                           const std::optional<ExchangeWindow>& window) {
  ExchangePlan plan;
  const auto source = [&](const Coordinates& at) {
    return windowed(box_of(from, global, mesh, at), window, ExchangeWindow::Side::source);
  };
  const auto target = [&](const Coordinates& at) {
    return windowed(box_of(to, global, mesh, at), window, ExchangeWindow::Side::target);
  };
  const Coordinates me = mesh.coordinates(rank);
  plan.from = source(me);
  plan.to = target(me);
  for (Axis a : all_axes) {
    if (mesh.extent(a) == 1) continue;
    plan.adds |= from.is_partial(a);
    plan.needs_zero |= from.is_partial(a) || to.is_partial(a);
  }
  if (window && plan.needs_zero)
    throw ContractError("a window of an exchange " + from.str() + " -> " + to.str() + ": partial sums have none");
  for (int peer = 0; peer < mesh.size(); ++peer) {
    const Coordinates other = mesh.coordinates(peer);
    if (meets(from, to, me, other)) add_piece(plan.send, peer, plan.from, target(other));
    if (meets(from, to, other, me)) add_piece(plan.receive, peer, plan.to, source(other));
  }
  return plan;
}

std::int64_t ExchangePlan::sent_elements(int rank) const {
  std::int64_t n = 0;
  for (const auto& piece : send)
    if (piece.peer != rank) n += piece.at.numel();
  return n;
}

std::string ExchangePlan::str() const {
  std::string text = "from " + from.str() + " to " + to.str();
  for (const auto& p : send) text += "\n  send to " + std::to_string(p.peer) + ": " + p.at.str();
  for (const auto& p : receive) text += "\n  recv from " + std::to_string(p.peer) + ": " + p.at.str();
  if (adds) text += "\n  pieces are added up";
  return text;
}

}  // namespace cpize
