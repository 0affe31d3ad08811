#include "layout/box.hpp"

#include <algorithm>

#include "error/error.hpp"

namespace cpize {

std::int64_t Box::numel() const {
  std::int64_t n = 1;
  for (auto s : size) n *= s;
  return n;
}

std::string Box::str() const {
  std::string text = "[";
  for (std::size_t d = 0; d < low.size(); ++d)
    text += (d > 0 ? ", " : "") + std::to_string(low[d]) + ":" + std::to_string(low[d] + size[d]);
  return text + "]";
}

Box box_of(const Spec& spec, const Shape& global, const MeshShape& mesh, const Coordinates& at) {
  if (static_cast<int>(global.size()) < spec.rank || global.size() > Spec::max_dims)
    throw ContractError("layout " + spec.str() + " takes " + std::to_string(spec.rank) + " to " +
                        std::to_string(Spec::max_dims) + " dimensions, the global shape has " +
                        std::to_string(global.size()));
  Box box;
  for (std::size_t d = 0; d < global.size(); ++d) {
    std::int64_t parts = 1, part = 0;
    for (int i = 0; i < spec.cut[d].axes; ++i) {
      const Axis axis = spec.cut[d].axis[i];
      part = part * mesh.extent(axis) + at[axis];
      parts *= mesh.extent(axis);
    }
    const std::int64_t low = global[d] * part / parts;
    box.low.push_back(low);
    box.size.push_back(global[d] * (part + 1) / parts - low);
  }
  return box;
}

Box intersect(const Box& a, const Box& b) {
  Box both;
  for (std::size_t d = 0; d < a.low.size(); ++d) {
    const auto low = std::max(a.low[d], b.low[d]);
    const auto high = std::min(a.low[d] + a.size[d], b.low[d] + b.size[d]);
    both.low.push_back(low);
    both.size.push_back(std::max<std::int64_t>(0, high - low));
  }
  return both;
}

}  // namespace cpize
