// The serial trunk as a model to be mapped: features read through instrumented dictionaries, a scope around every step.
#pragma once
#include "map/mapper.hpp"

namespace cpize::parity {

/// Axes: B, N tokens, M rows of the MSA, S token channels, Z pair channels.
map::MappedModel build_mapped_trunk(const map::AxisSizes& sizes);

}  // namespace cpize::parity
