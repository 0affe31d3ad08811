// The parity case of the toy block, with or without something wrong in its port.
#pragma once
#include "parity/harness/block_case.hpp"
#include "parity/harness/tests/toy_block.hpp"

namespace cpize::parity {

BlockCase toy_case(Mutant mutant);

}  // namespace cpize::parity
