// The pairformer on a mesh: layers and stacks, with and without a single track.
#pragma once
#include "trunk/pairformer/pairformer_module.hpp"
#include "trunk/pairformer/pairformer_noseq_module.hpp"
