#include "mesh/mesh_shape.hpp"

#include <charconv>
#include <vector>

#include "error/error.hpp"

namespace cpize {

std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, 3> names{"dp", "cp0", "cp1"};
  return names[static_cast<std::size_t>(axis)];
}

MeshShape::MeshShape(int dp, int cp0, int cp1) : extent_{dp, cp0, cp1} {
  for (Axis axis : all_axes)
    if (extent(axis) < 1)
      throw ConfigError("mesh axis " + std::string(name_of(axis)) + " has " + std::to_string(extent(axis)) +
                        " ranks; every axis needs at least 1");
}

Coordinates MeshShape::coordinates(int rank) const {
  if (rank < 0 || rank >= size())
    throw ConfigError("rank " + std::to_string(rank) + " is not in the mesh " + str() + " of " +
                      std::to_string(size()) + " ranks");
  return {{rank / cp_size(), rank / extent_[2] % extent_[1], rank % extent_[2]}};
}

int MeshShape::rank(const Coordinates& c) const {
  return (c[Axis::dp] * extent_[1] + c[Axis::cp0]) * extent_[2] + c[Axis::cp1];
}

std::string MeshShape::str() const {
  return std::to_string(extent_[0]) + "x" + std::to_string(extent_[1]) + "x" + std::to_string(extent_[2]);
}

MeshShape MeshShape::parse(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (true) {
    int value = 0;
    auto [next, status] = std::from_chars(at, end, value);
    if (status != std::errc{}) break;
    numbers.push_back(value);
    at = next;
    if (at == end || *at != 'x') break;
    ++at;
  }
  if (at != end || numbers.size() < 2 || numbers.size() > 3)
    throw ConfigError("'" + std::string(text) +
                      "' is no mesh; write dp x cp0 x cp1 as in 1x2x3, or cp0 x cp1 as in 2x3");
  if (numbers.size() == 2) numbers.insert(numbers.begin(), 1);
  return {numbers[0], numbers[1], numbers[2]};
}

}  // namespace cpize
