// What machine and libraries a measurement was made with.
#pragma once
#include "parity/harness/measurement.hpp"

namespace cpize::parity {

/// torch version and hardware threads; no host name, no path.
void describe_environment(Measurement& measurement);

}  // namespace cpize::parity
