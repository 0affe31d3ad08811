// Counter-based uniform numbers: a pure function of (seed, stream, step, global element index), whatever the mesh.
//
// Any shard computes exactly the values that a serial run would, a resumed run continues its streams by knowing the
// step, and no generator holds a state. Uniform only, without transcendental functions: the same bits on every machine.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "layout/box.hpp"

namespace cpize::lifecycle {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014) on `x` plus its increment: a bijection of 64-bit words.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// One stream at one step.
class CounterStream {
 public:
  CounterStream(std::uint64_t seed, std::string_view name, std::int64_t step);

  /// Number `index` of the stream, in [-1, 1), a multiple of 2^-52.
  double element(std::int64_t index) const {
    return static_cast<double>(splitmix64(key_ ^ splitmix64(static_cast<std::uint64_t>(index))) >> 11) * 0x1p-52 - 1.0;
  }

  /// The box `box` of a tensor of shape `global` whose elements are numbered row-major: fp64, on the CPU.
  at::Tensor uniform(const Shape& global, const Box& box) const;
  /// The whole tensor.
  at::Tensor uniform(const Shape& global) const;

 private:
  std::uint64_t key_;
};

}  // namespace cpize::lifecycle
