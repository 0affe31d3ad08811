// Stream: a named sequence of random words. Element i of a stream is a function of (seed, name, step, i) and of nothing
// else: no state, no order of calls, no rank.
//
//   const random::Stream root(seed);                                  // the run
//   const auto noise = root.child("diffusion").child("initial_noise");  // "diffusion.initial_noise"
//   const auto masks = root.child("msa_module").at_step(recycling_pass);
#pragma once
#include <cstdint>
#include <string>

#include "random/philox.hpp"

namespace cpize::random {

/// What a kernel needs of a stream. Word block b (four words, two elements) is philox4x32({b low, b high, step low,
/// step high}, key).
struct StreamKey {
  PhiloxKey key;
  std::uint64_t step = 0;
};

class Stream {
 public:
  /// `name`: the dotted path of whoever draws. `step`: which repetition (training step, recycling pass, denoising
  /// step).
  explicit Stream(std::uint64_t seed, std::string name = {}, std::uint64_t step = 0);

  /// The stream of that name below this one, at the same step: the names with a dot between. ContractError for an
  /// empty one.
  Stream child(const std::string& name) const;
  /// The same name at another step.
  Stream at_step(std::uint64_t step) const;

  std::uint64_t seed() const { return seed_; }
  const std::string& name() const { return name_; }
  std::uint64_t step() const { return step_; }

  /// The key is the first half of philox4x32({FNV-1a hash of the name (two words), 0, 0}, seed).
  StreamKey key() const;

 private:
  std::uint64_t seed_, step_;
  std::string name_;
};

}  // namespace cpize::random
