// The operations by area: each file of this folder knows the blocks of one, published module path to factory.
#pragma once
#include <map>
#include <string>

#include "parity/serial/golden_operation.hpp"

namespace cpize::parity {

using GoldenFactory = GoldenOperation (*)(const GoldenCase&, GoldenArguments&);
using GoldenOperations = std::map<std::string, GoldenFactory>;

/// Triangle multiplications and attentions, transitions.
GoldenOperations pair_operations();
/// Attention with pair bias, pairformer layers and stacks.
GoldenOperations pairformer_operations();
/// Outer product mean, pair-weighted averaging, MSA layers and modules.
GoldenOperations msa_operations();
/// What makes the first representations: relative positions and the other conditioning.
GoldenOperations input_operations();
/// Templates.
GoldenOperations template_operations();
/// The heads that read the trunk.
GoldenOperations head_operations();

}  // namespace cpize::parity
