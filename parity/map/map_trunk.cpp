// Phase 0: maps the serial trunk and writes docs/current_code_structure.md (the task's artifact).
#include "features/feature_spec.hpp"
#include "parity/map/trunk_factory.hpp"
#include "parity/phases/map_case.hpp"

static cpize::parity::MapCase trunk() {
  using namespace cpize;
  // Base and grown sizes are all different, so that no size is taken for another axis.
  parity::MapCase trunk("trunk", parity::build_mapped_trunk);
  trunk.axis("B", 2, 3).axis("N", 7, 13).axis("M", 5, 23).axis("S", 11, 17).axis("Z", 19, 29);
  trunk.scopes({"zero_padding", "input_embedder", "pair_init", "recycling", "msa_module", "pairformer_module",
                "distogram_module", "bfactor_module"});
  for (const auto& spec : features::kFeatureSpecs)
    trunk.feature(std::string(spec.name),
                  {std::string(spec.layout), std::string(spec.mask), std::string(features::name_of(spec.index_space))});
  return trunk;
}

CPIZE_MAP_MAIN(trunk)
