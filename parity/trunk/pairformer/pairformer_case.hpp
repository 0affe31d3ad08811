// What the cases of pairformer layers and stacks have in common: sizes, sums, bounds.
#pragma once
#include <string>
#include <vector>

#include "parity/harness/block_case.hpp"
#include "parity/trunk/pairformer/attention_bytes.hpp"
#include "parity/trunk/triangle_attention/attention_case.hpp"
#include "parity/trunk/triangle_case.hpp"
#include "serial/pairformer.hpp"
#include "trunk/pairformer/pairformer_options.hpp"

namespace cpize::parity {

/// Widths: C pairs, D and H of the triangle attentions; token_s and heads of the single track.
inline BlockCase with_pair_widths(BlockCase block) {
  return block.size("C", 16)
      .size("D", 5)
      .perturbation(0.5)  // layers multiply the rounding of the ones before
      .size("H", 2)
      .precision_size({{"N", 23}, {"C", 16}, {"D", 8}, {"token_s", 24}})
      .fused_size({{"N", 97}, {"C", 128}, {"D", 32}, {"H", 4}, {"token_s", 384}, {"heads", 16}})
      .cost_size({{"N", 144}, {"C", 48}, {"D", 12}, {"H", 4}, {"token_s", 32}, {"heads", 8}});
}

inline BlockCase pair_track(const std::string& name) {
  return with_pair_widths(BlockCase(name)
                              .input<Pair>("z", {"B", "N", "N", "C"})
                              .masked_by("mask")
                              .mask<Single>("mask", {"B", "N"})
                              .output("z_out", {"B", "N", "N", "C"})
                              .masked_by("mask"));
}
inline BlockCase both_tracks(const std::string& name) {
  return pair_track(name)
      .input<Single>("s", {"B", "N", "token_s"})
      .masked_by("mask")
      .output("s_out", {"B", "N", "token_s"})
      .masked_by("mask")
      .size("token_s", 12)
      .size("heads", 3);
}

/// The options of serial and port at sizes s; `Options` is either's PairformerOptions.
template <class Options>
Options pairformer_options(const Sizes& s) {
  Options options;
  options.pairwise_head_width = s["D"];
  options.pairwise_num_heads = s["H"];
  if (s.has("heads")) options.num_heads = s["heads"];
  return options;
}

/// The sums of a pair track, one after the other, `layers` times; with those of a single track behind.
inline std::vector<std::string> pairformer_sums(int layers, bool single_track) {
  const std::vector<std::string> multiplication{"C", "C", "N", "C", "C"}, attention{"C", "C", "D", "N", "N", "C"},
      transition{"C", "C", "C", "C", "C", "C"},
      single{"token_s", "token_s", "token_s", "C",       "C",       "token_s", "N",       "token_s", "N",
             "token_s", "token_s", "token_s", "token_s", "token_s", "token_s", "token_s", "token_s"};
  std::vector<std::string> sums;
  const auto add = [&](const std::vector<std::string>& more) { sums.insert(sums.end(), more.begin(), more.end()); };
  for (int i = 0; i < layers; ++i) {
    for (const auto& block : {multiplication, multiplication, attention, attention, transition}) add(block);
    if (single_track) add(single);
  }
  return sums;
}

/// Bytes that one pair track sends forward and backward: its blocks'.
inline double pair_track_forward_bytes(const CostPoint& p) {
  const double channels = static_cast<double>(p.sizes["C"]);
  double bytes = 2 * triangle_bytes(p, 2, 1) + 2 * attention_bias_bytes(p, p.element_bytes);
  for (const Axis along : {cp1, cp0}) bytes += attention_rows_bytes(p, along, 2 * channels + 1);
  return bytes;
}
inline double pair_track_backward_bytes(const CostPoint& p) {
  const double channels = static_cast<double>(p.sizes["C"]);
  double bytes = 2 * triangle_bytes(p, 1, 2) + 2 * attention_bias_bytes(p, p.element_bytes) +
                 2 * attention_bias_bytes(p, std::max(p.element_bytes, 4.));
  for (const Axis along : {cp1, cp0}) bytes += attention_rows_bytes(p, along, 3 * channels);
  return bytes;
}
/// Bytes of the weights of a pair track, or of their gradients: 6 C C of each multiplication, 5 C D H of each
/// attention, 12 C C of the transition.
inline double pair_track_weights(const CostPoint& p) {
  const double c = static_cast<double>(p.sizes["C"]), width = static_cast<double>(p.sizes["D"] * p.sizes["H"]);
  return std::max(4., p.element_bytes) * (24 * c * c + 10 * c * width);
}
/// Saved by a pair track: 3 b of each triangle multiplication, and the inputs of all blocks but the first; 1 b of room
/// for masks, factors and what a small size makes of panels.
inline double pair_track_saved(const CostPoint& p) { return (2 * 3 + 4 + 1) * p.b(); }
/// Peak of backward beside what is saved: z, its gradient and the working memory of one block, whose own saved tensors
/// are in the sum above; in bf16 a gradient and the panels in fp32. Gradients of the weights remain.
inline double pair_track_step(const CostPoint& p) {
  return pair_track_saved(p) + (p.element_bytes < 4 ? 7 : 5) * p.b() + 1.25 * pair_track_weights(p);
}
/// Peak without gradients: z and one block, its result among it; in bf16 panels in fp32.
inline double pair_track_forward_peak(const CostPoint& p) {
  return (p.element_bytes < 4 ? 6 : 5) * p.b() + pair_track_weights(p) / 4;
}

/// With dropout the pair track goes on in promote_types(dtype, fp32), as in serial: bounds of bf16 count that width.
inline double dropped_width(const CostPoint& p) { return std::max(4., p.element_bytes) / p.element_bytes; }

/// The single track's attention, in promote_types(dtype, fp32) in a layer.
inline CostPoint single_track(CostPoint p) {
  p.element_bytes = std::max(4., p.element_bytes);
  return p;
}

/// The outer product of the token mask, once a call.
inline double pair_mask_bytes(const CostPoint& p) { return 2 * 8 * static_cast<double>(p.sizes["B"] * p.sizes["N"]); }

}  // namespace cpize::parity
