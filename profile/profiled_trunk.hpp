// The trunk as phase 6 looks at it: its steps, and in them the blocks of the MSA module and the pairformer.
#pragma once
#include "profile/profiled_model.hpp"

namespace cpize::profile {

ProfiledModel profiled_trunk();

}  // namespace cpize::profile
