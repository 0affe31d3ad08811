// parity_toy: the toy block's honest port, by hand or as the tool would run it.
#include "parity/harness/block_parity.hpp"
#include "parity/harness/tests/toy_case.hpp"

cpize::parity::BlockCase honest() { return cpize::parity::toy_case(cpize::parity::Mutant::none); }

CPIZE_PARITY_MAIN(honest)
