// Phase 0: maps the serial pair slice and writes docs/current_code_structure.md (the task's artifact).
#include "features/feature_spec.hpp"
#include "parity/map/slice_factory.hpp"
#include "parity/phases/map_case.hpp"

static cpize::parity::MapCase pair_slice() {
  using namespace cpize;
  // Base and grown sizes are all different, so that no size is taken for another axis.
  parity::MapCase slice("pair slice", parity::build_mapped_slice);
  slice.axis("B", 2, 3).axis("N", 7, 13).axis("S", 11, 17).axis("Z", 19, 29);
  slice.scopes({"input_embedder", "rel_pos", "pair_init", "tri_mul_out", "tri_mul_in", "transition_z"});
  for (const auto& spec : features::kFeatureSpecs) {
    if (spec.layout == "Msa") continue;  // the slice has no MSA track
    slice.feature(std::string(spec.name),
                  {std::string(spec.layout), std::string(spec.mask), std::string(features::name_of(spec.index_space))});
  }
  return slice;
}

CPIZE_MAP_MAIN(pair_slice)
