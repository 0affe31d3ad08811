// Layouts that only this model needs, beside those of layout/layouts.hpp.
#pragma once
#include "layout/layouts.hpp"

namespace contactnet {

/// [B,N]: a map's columns, all of them on every rank that has the map.
struct Columns : cpize::Layout<cpize::TokenSingle, cpize::On<cpize::dp>> {};

struct MapFamily {
  static constexpr const char* name = "maps";
};
/// [B,C]: one row a map, the same on every rank that has the map.
struct PerMap : cpize::Layout<MapFamily, cpize::On<cpize::dp>> {};

}  // namespace contactnet
