// Smoke tests of a world: every rank runs them; a failure throws on every rank.
#pragma once
#include "mesh/device_mesh.hpp"

namespace cpize::parity {

/// Coordinates agree with the rank's number; every rank is there exactly once.
void check_coordinates(const MeshPtr& mesh);
/// all-reduce, all-to-all with uneven splits and barrier give what they must.
void check_collectives(const MeshPtr& mesh);
/// Pair -> PairByChannel -> Pair and Single -> SingleRow -> Single give the shard back.
void check_redistribution(const MeshPtr& mesh);

}  // namespace cpize::parity
