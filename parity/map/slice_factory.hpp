// The factory that the map runs: the serial pair slice with a named scope around every step of its composition.
#pragma once
#include "map/mapper.hpp"

namespace cpize::parity {

/// Axes: B, N tokens, S = token_s, Z = token_z. Features are those of the feature-spec table at these sizes.
map::MappedModel build_mapped_slice(const map::AxisSizes& sizes);

}  // namespace cpize::parity
