// What the blocks of the MSA track may send and hold, for their own cases and those of layers and modules. Sizes: S
// rows, M = msa_s, C = token_z, heads and width of the averages, Hidden of the products.
#pragma once
#include <algorithm>

#include "parity/harness/cost.hpp"

namespace cpize::parity {

/// u(channels) = B S N channels / Q elements, in bytes: that many channels of an MSA shard.
inline double msa_bytes(const CostPoint& p, double channels) {
  return p.b("1") / static_cast<double>(p.sizes["N"]) * static_cast<double>(p.sizes["S"]) * channels;
}
inline double msa_shard(const CostPoint& p) { return msa_bytes(p, static_cast<double>(p.sizes["M"])); }
/// cp0 + cp1: how many times the operands of a product exist, in units of their shards.
inline double lines(const CostPoint& p) { return p.mesh.extent(Axis::cp0) + p.mesh.extent(Axis::cp1); }
/// An element in promote_types(dtype, fp32), in elements of an activation.
inline double wide(const CostPoint& p) { return std::max(1., 4 / p.element_bytes); }

/// `channels` of the MSA to the tokens of each rank, rows and columns, or back.
inline double to_tokens(const CostPoint& p, double channels) {
  return msa_bytes(p, channels) * lines(p) * (p.q() - 1) / p.q();
}
/// Logits of averages, one channel a head, from their owner to all others; and the maximum of the mask along rows.
inline double to_all(const CostPoint& p, double heads) { return (p.q() - 1) * p.b("1") * heads; }
inline double partner_maxima(const CostPoint& p) {
  return 4. * static_cast<double>(p.sizes["N"]) / p.mesh.extent(Axis::cp0) * (p.mesh.extent(Axis::cp1) - 1);
}

}  // namespace cpize::parity
