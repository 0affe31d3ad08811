// MeshShape: numbering, parsing, refusals.
#include <gtest/gtest.h>

#include "error/error.hpp"
#include "mesh/device_mesh.hpp"

namespace cpize {
namespace {

TEST(MeshShape, NumbersRanksRowMajor) {
  const MeshShape mesh(2, 2, 3);
  EXPECT_EQ(mesh.size(), 12);
  for (int r = 0; r < 12; ++r) EXPECT_EQ(mesh.rank(mesh.coordinates(r)), r);
  EXPECT_EQ(mesh.coordinates(4), (Coordinates{{0, 1, 1}}));
}

TEST(MeshShape, ParsesWhatItPrintsAndRefusesTheRest) {
  EXPECT_EQ(MeshShape::parse("2x2x3"), MeshShape(2, 2, 3));
  EXPECT_EQ(MeshShape::parse("2x3"), MeshShape(1, 2, 3));
  for (const char* bad : {"", "2", "2x", "x2", "2x2x2x2", "2x-1", "0x1x1", "axb", "1x1 "})
    EXPECT_THROW(MeshShape::parse(bad), ConfigError) << bad;
}

TEST(DeviceMesh, APlanningMeshHasNoBackend) {
  EXPECT_THROW(DeviceMesh({1, 1, 2}, nullptr, 0).backend(), ConfigError);
  EXPECT_THROW(DeviceMesh({1, 1, 2}, nullptr, 2), ConfigError);
}

}  // namespace
}  // namespace cpize
