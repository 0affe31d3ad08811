// Sabotage: three errors that the harness makes on purpose, and the same comparison that must see each of them; and
// poison, which must change nothing.
#pragma once
#include "parity/harness/compare.hpp"
#include "parity/harness/execute.hpp"

namespace cpize::parity {

/// One rank's contribution to one parameter's gradient is left out of the sum: of all parameters the one whose largest
/// contribution is smallest against its tolerance. Without parameters: one rank's input gradient is lost.
std::string drop_gradient(const BlockCase& block, const SerialRun& serial, const PortRun& honest);

/// Of each output, two ranks' shards change places (of one rank, two parts of the output).
std::string swap_shards(const BlockCase& block, const SerialRun& serial, const PortRun& honest);

/// The port gets masks of ones. "n/a" only if serial was seen to read no mask, or has none.
std::string ignore_mask(const BlockCase& block, const SerialRun& serial);

/// Empty if padding that holds 1e30 (fp32, bf16: 1e15; NaN in a composition) instead of zero changes no valid output,
/// no valid input gradient and no parameter gradient by a bit (the two zeros count as equal), else what changed. Output
/// gradients are zero where masked.
std::string poison_changes(const BlockCase& block, const SerialRun& serial);

}  // namespace cpize::parity
