// What the cases of MSA layers and modules have in common: widths, sums, bounds. Sizes as in msa_bytes.hpp and
// pairformer_case.hpp.
#pragma once
#include <string>
#include <vector>

#include "parity/trunk/msa/msa_bytes.hpp"
#include "parity/trunk/pairformer/pairformer_case.hpp"
#include "serial/msa_module.hpp"
#include "trunk/msa/msa_module.hpp"

namespace cpize::parity {

inline BlockCase with_msa_widths(BlockCase block) {
  return block.size("1", 1)
      .size("M", 6)
      .size("D", 3)
      .size("H", 2)
      .size("token_s", 12)
      .precision_size({{"N", 23}, {"C", 16}, {"D", 8}, {"M", 16}, {"token_s", 24}})
      .fused_size({{"N", 97}, {"C", 128}, {"D", 32}, {"H", 4}, {"M", 64}, {"token_s", 384}, {"S", 37}, {"kept", 29}})
      .cost_size({{"N", 72}, {"C", 64}, {"D", 16}, {"H", 4}, {"M", 32}, {"token_s", 32}, {"S", 144}, {"kept", 72}});
}

/// The options of serial and port at sizes s; `Options` is either's MsaLayerOptions.
template <class Options>
Options msa_layer_options(const Sizes& s) {
  Options options;
  options.msa_s = s["M"];
  options.token_z = s["C"];
  options.pairwise_head_width = s["D"];
  options.pairwise_num_heads = s["H"];
  return options;
}

/// The sums of a layer, one after the other: averages, transition, products, pair track; `layers` times.
inline std::vector<std::string> msa_layer_sums(int layers, const std::string& depth) {
  std::vector<std::string> sums;
  for (int i = 0; i < layers; ++i) {
    for (const auto& length : {"C", "C", "N", "M", "M", "N", "256", "M", "M", "M", "M", "M", "M", "M", "M"})
      sums.push_back(length);
    sums.push_back(depth);
    sums.push_back("1024");
    const auto pairs = pairformer_sums(1, false);
    sums.insert(sums.end(), pairs.begin(), pairs.end());
  }
  return sums;
}
/// Shifts all logits of a head alike.
inline std::string without_gradient(const std::string& layer) { return layer + "pair_weighted_averaging.norm_z.bias"; }

/// Bytes of one layer, with its 8 heads and 32 hidden channels, at S rows.
inline double msa_layer_forward_bytes(const CostPoint& p) {
  return to_all(p, trunk::kAveragingHeads) + partner_maxima(p) + to_tokens(p, trunk::kOuterProductHidden + 1) +
         pair_track_forward_bytes(p);
}
inline double msa_layer_backward_bytes(const CostPoint& p) {
  return (1 + wide(p)) * to_all(p, trunk::kAveragingHeads) + to_tokens(p, trunk::kOuterProductHidden) +
         pair_track_backward_bytes(p);
}
/// Gradients of the weights of the MSA's blocks: averages, transition, products.
inline double msa_weights(const CostPoint& p) {
  const double m = static_cast<double>(p.sizes["M"]), c = static_cast<double>(p.sizes["C"]);
  return std::max(4., p.element_bytes) * (3 * 256 * m + 12 * m * m + 1024 * c);
}
/// The token mask as a case or an entry needs it whole, 8 bytes a token at most.
inline double whole_mask_bytes(const CostPoint& p) {
  return 8 * (p.q() - 1) * static_cast<double>(p.sizes["B"] * p.sizes["N"]) / p.q();
}

/// Saved by a layer: what its blocks save, z once more, m after each of its updates, and masks.
inline double msa_layer_saved(const CostPoint& p) {
  return pair_track_saved(p) + p.b() + p.b("1") * trunk::kAveragingHeads + 3 * msa_shard(p) +
         msa_bytes(p, trunk::kOuterProductHidden) * lines(p) + wide(p) * (p.b("1") + msa_bytes(p, 4));
}
/// Peak of backward: beside what is saved the pair track's (its own saved tensors are in the sum above), gradients of m
/// and z, and what an outer product holds.
inline double msa_layer_step(const CostPoint& p) {
  return msa_layer_saved(p) - pair_track_saved(p) + pair_track_step(p) + 2 * p.b() + 4 * msa_shard(p) +
         2 * msa_bytes(p, trunk::kOuterProductHidden) * lines(p) + 2 * p.b("1") * 1024 / 16 + 1.25 * msa_weights(p);
}
inline double msa_layer_forward_peak(const CostPoint& p) {
  return pair_track_forward_peak(p) + p.b() + 2 * msa_shard(p) +
         2 * msa_bytes(p, trunk::kOuterProductHidden) * lines(p) + p.b("1") * 1024 / 16;
}

}  // namespace cpize::parity
