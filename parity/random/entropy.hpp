// Entropy of distributed draws, judged from the numbers alone: equal on ranks that hold the same data, independent on
// ranks that hold different data. Knows nothing of how they are drawn, so that it can judge any generator.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "layout/spec.hpp"
#include "mesh/device_mesh.hpp"

namespace cpize::parity {

/// Something that every rank draws its part of.
struct Draw {
  std::string name;
  Spec spec;                                       // how the numbers are cut: a replicated axis holds the same ones
  Shape global;                                    // of the numbers
  std::function<at::Tensor(const MeshPtr&)> part;  // what one rank draws
  at::Tensor whole;                                // what the serial model draws
};

/// What all pairs of neighbouring ranks of a mesh show.
struct Entropy {
  int shared_pairs = 0, shared_that_differ = 0;           // along axes with the same data: must have equal bits
  int independent_pairs = 0, independent_that_agree = 0;  // along axes with different data: |correlation| too large
  double worst_correlation = 0;                           // times sqrt(count): about standard normal
};

/// No correlation coefficient of independent numbers is so many standard errors large: 6e-7 a pair.
inline constexpr double kCorrelationBound = 5;

/// The parts of all ranks of a mesh; no communication, so that any mesh can be tried in one process.
std::vector<at::Tensor> parts_on(const MeshShape& mesh, const std::function<at::Tensor(const MeshPtr&)>& part);

/// Adds what this draw shows on that mesh.
void judge_entropy(const Draw& draw, const std::vector<at::Tensor>& parts, const MeshShape& mesh, Entropy& found);

}  // namespace cpize::parity
