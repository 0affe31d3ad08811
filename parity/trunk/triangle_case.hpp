// The parity case of a triangle multiplication, for both directions (and for the demo, at another size).
#pragma once
#include <algorithm>
#include <cmath>

#include "parity/harness/block_case.hpp"
#include "serial/triangle_multiplication.hpp"

namespace cpize::parity {

/// Bytes that the busiest rank sends: `out` tensors from pairs to channels, `back` tensors from channels to pairs. A
/// rank keeps its own pairs of its own channels, so with c of C channels it sends out L (C - c) + back c (N N - L), L
/// its pairs; c is C / Q rounded either way. Where Q divides C that is (out + back) b (Q-1)/Q.
inline double triangle_bytes(const CostPoint& p, double out, double back) {
  const double channels = static_cast<double>(p.sizes["C"]), q = p.q(), pairs = p.b() / channels;
  double most = 0;
  for (const double c : {std::floor(channels / q), std::ceil(channels / q)})
    most = std::max(most, out * pairs * (channels - c) + back * c * pairs * (q - 1));
  return most;
}

/// `Port` is the port's module holder. Costs at N = 96, C = 128, with the bounds of the port's header: sent 3 b (Q-1)/Q
/// each way, peaks 5 b and 8 b, 3 b saved (a rank with c channels saves 2 c Q / C + 1).
template <class Port>
BlockCase triangle_case(const std::string& name, serial::TriangleDirection direction) {
  return BlockCase(name)
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Pair>("mask", {"B", "N", "N"})
      .output("y", {"B", "N", "N", "C"})
      .masked_by("mask")
      .serial([direction](const Sizes& s) { return serial::TriangleMultiplication(s["C"], direction); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(in["z"], in["mask"])}};
              })
      .port([](const Sizes& s) { return Port(s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"y", block(in.get<Pair>("z"), in.get<Pair>("mask"))}};
            })
      .contraction({"C", "N", "C"})
      .size("C", 20)
      .cost_size({{"N", 96}, {"C", 128}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return triangle_bytes(p, 2, 1); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return triangle_bytes(p, 1, 2); })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 5 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 8 * p.b(); })
      .bound("saved_bytes", [](const CostPoint& p) {
        const double channels = static_cast<double>(p.sizes["C"]);
        return p.b() * (2 * std::ceil(channels / p.q()) * p.q() / channels + 1) + 4096;
      });
}

}  // namespace cpize::parity
