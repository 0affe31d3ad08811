// The pair slice as a block to be proved: what its own case and the end-to-end case on a real protein have in common.
#pragma once
#include "parity/harness/block_case.hpp"
#include "parity/trunk/slice_features.hpp"
#include "serial/pair_slice.hpp"
#include "trunk/pair_slice.hpp"

namespace cpize::parity {

/// `block` must declare the features of the slice and token_pad_mask; widths are the sizes C (token_z) and token_s.
inline BlockCase as_pair_slice(BlockCase block) {
  return block.output("z", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .padding_is_nan()
      .serial(
          [](const Sizes& s) {
            return serial::PairSlice(serial::PairSliceOptions{.token_s = s["token_s"], .rel_pos = {.token_z = s["C"]}});
          },
          [](auto& slice, const Tensors& in) {
            return Tensors{{"z", slice(serial::PairSliceFeatures::from(source_of(in)))}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairSlice(trunk::PairSliceOptions{.token_s = s["token_s"], .rel_pos = {.token_z = s["C"]}});
          },
          [](auto& slice, const ShardedTensors& in) {
            return ShardedTensors{
                {"z", slice(trunk::PairSliceFeatures{input_of(in), position_of(in), in.get<Pair>("token_bonds"),
                                                     in.get<Single>("token_pad_mask")})}};
          })
      // Embedder; projections and columns; twice norm, projection, triangles, norm, projection; the transition.
      .contraction(
          {"67", "token_s", "8", "C", "C", "N", "C", "C", "C", "C", "N", "C", "C", "C", "C", "C", "C", "C", "C"});
}

}  // namespace cpize::parity
