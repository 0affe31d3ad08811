#include "layout/exchange_plan.hpp"

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

}  // namespace

ExchangePlan plan_exchange(const Spec& from, const Spec& to, const Shape& global, const MeshShape& mesh, int rank) {
  ExchangePlan plan;
  const Coordinates me = mesh.coordinates(rank);
  plan.from = box_of(from, global, mesh, me);
  plan.to = box_of(to, global, mesh, me);
  for (Axis a : all_axes) {
    if (mesh.extent(a) == 1) continue;
    plan.adds |= from.is_partial(a);
    plan.needs_zero |= from.is_partial(a) || to.is_partial(a);
  }
  for (int peer = 0; peer < mesh.size(); ++peer) {
    const Coordinates other = mesh.coordinates(peer);
    if (meets(from, to, me, other)) add_piece(plan.send, peer, plan.from, box_of(to, global, mesh, other));
    if (meets(from, to, other, me)) add_piece(plan.receive, peer, plan.to, box_of(from, global, mesh, other));
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
