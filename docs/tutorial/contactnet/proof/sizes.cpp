// Phase 7: the largest map that fits, and how fast a step is.
#include "parity/phases/size_case.hpp"
#include "proof/step.hpp"

using namespace cpize;

static parity::SizeCase contact_net() {
  return parity::SizeCase("contact net").step(contactnet::training_step).budget(32 << 20).timed_up_to(64);
}

CPIZE_SIZE_MAIN(contact_net)
