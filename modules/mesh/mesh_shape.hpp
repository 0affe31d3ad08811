// MeshShape: the (dp, cp0, cp1) grid of ranks, rank numbers and coordinates. No torch in here.
//
// Ranks are numbered row-major, cp1 fastest:  rank = (dp_i * cp0 + cp0_i) * cp1 + cp1_i.
// Worked example, 1x2x3:   cp1: 0 1 2
//                   cp0 0:      0 1 2
//                   cp0 1:      3 4 5
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cpize {

/// The axes of the mesh: data parallel, context-parallel rows, context-parallel columns.
enum class Axis : std::uint8_t { dp, cp0, cp1 };
inline constexpr std::array<Axis, 3> all_axes{Axis::dp, Axis::cp0, Axis::cp1};

constexpr int index_of(Axis axis) { return static_cast<int>(axis); }
std::string_view name_of(Axis axis);

/// One position in the mesh, indexed by Axis.
struct Coordinates {
  std::array<int, 3> at{0, 0, 0};
  constexpr int operator[](Axis axis) const { return at[static_cast<std::size_t>(axis)]; }
  friend constexpr bool operator==(const Coordinates&, const Coordinates&) = default;
};

class MeshShape {
 public:
  constexpr MeshShape() = default;
  /// Extents must be at least 1, otherwise ConfigError.
  MeshShape(int dp, int cp0, int cp1);

  int extent(Axis axis) const { return extent_[static_cast<std::size_t>(axis)]; }
  int size() const { return extent_[0] * extent_[1] * extent_[2]; }
  /// Ranks of one data-parallel replica: Q = cp0 * cp1.
  int cp_size() const { return extent_[1] * extent_[2]; }

  Coordinates coordinates(int rank) const;
  int rank(const Coordinates& c) const;

  /// "1x2x3"
  std::string str() const;
  /// Reads "1x2x3" (dp x cp0 x cp1) or "2x3" (dp = 1); ConfigError otherwise.
  static MeshShape parse(std::string_view text);

  friend bool operator==(const MeshShape&, const MeshShape&) = default;

 private:
  std::array<int, 3> extent_{1, 1, 1};
};

}  // namespace cpize
