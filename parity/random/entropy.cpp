#include "parity/random/entropy.hpp"

#include <algorithm>
#include <cmath>

#include "parity/harness/bits.hpp"
#include "parity/random/draws.hpp"

namespace cpize::parity {

std::vector<at::Tensor> parts_on(const MeshShape& mesh, const std::function<at::Tensor(const MeshPtr&)>& part) {
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < mesh.size(); ++rank)
    parts.push_back(part(c10::make_intrusive<DeviceMesh>(mesh, nullptr, rank)));
  return parts;
}

void judge_entropy(const Draw& draw, const std::vector<at::Tensor>& parts, const MeshShape& mesh, Entropy& found) {
  for (int rank = 0; rank < mesh.size(); ++rank)
    for (const Axis axis : all_axes) {
      Coordinates next = mesh.coordinates(rank);
      if (++next.at[index_of(axis)] == mesh.extent(axis)) continue;
      const at::Tensor &mine = parts.at(rank), &other = parts.at(mesh.rank(next));
      if (!draw.spec.sharded(axis)) {
        ++found.shared_pairs;
        if (!same_bits(mine, other)) ++found.shared_that_differ;
        continue;
      }
      const std::int64_t count = std::min(mine.numel(), other.numel());
      const double r =
          std::fabs(correlation(mine.reshape(-1).slice(0, 0, count), other.reshape(-1).slice(0, 0, count)));
      ++found.independent_pairs;
      found.worst_correlation = std::max(found.worst_correlation, r);
      if (!(r <= kCorrelationBound)) ++found.independent_that_agree;
    }
}

}  // namespace cpize::parity
