// What a triangle multiplication may cost, for the cases of both directions.
#pragma once
#include <algorithm>
#include <cmath>

#include "parity/harness/block_case.hpp"

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

/// The size where costs are measured, and the bounds of the port's header: sent 3 b (Q-1)/Q each way, peaks 5 b and 8
/// b, 3 b saved (a rank with c channels saves 2 c Q / C + 1).
inline BlockCase triangle_costs(BlockCase block) {
  return block.size("C", 20)
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
