// FaultPlan: what goes wrong, on which rank, when. Drawn at random by a seed, so that a run can be repeated.
#pragma once
#include <cstdint>
#include <string>

#include "mesh/mesh_shape.hpp"

namespace cpize::parity {

enum class FaultKind {
  none,
  skip,        // a rank wants to leave out a sample: all leave it out, and go on
  allocation,  // memory runs out on one rank, inside whatever it does next
  data_error,  // a file that only rank 0 reads is broken
  non_finite,  // the loss of one rank is NaN or infinite
  exception,   // one rank throws just before a collective
  returns,     // one rank leaves the loop early, without an error
  kill,        // SIGKILL (ranks that are processes)
  stop,        // SIGSTOP (likewise)
};

struct FaultPlan {
  FaultKind kind = FaultKind::none;
  MeshShape mesh;
  int rank = 0;
  int step = 1;        // from 1: the first step is always good, and tells how many collectives a step has
  int collective = 0;  // of that step, modulo their number
  int allocation = 0;  // how many allocations after that still succeed
  bool infinite = false;

  /// `processes`: kinds that end a process may be drawn too.
  static FaultPlan random(std::uint64_t seed, bool processes, int world);
  /// "allocation on rank 2 of 1x2x2, step 1, before collective 7"
  std::string str() const;
  /// What every rank's last message must contain; empty where no rank is to fail.
  std::string cause() const;
  /// Which rank the message must name.
  bool ends_well() const { return kind == FaultKind::none || kind == FaultKind::skip; }
};

std::string name_of(FaultKind kind);

}  // namespace cpize::parity
