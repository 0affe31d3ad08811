// Parity of the pair slice, a composition: features with NaN in their padding to z.
#include "trunk/pair_slice.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/slice_features.hpp"
#include "serial/pair_slice.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase pair_slice() {
  return with_bonds(with_position(with_input(BlockCase("pair_slice").mask<Single>("token_pad_mask", {"B", "N"}))))
      .output("z", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .padding_is_nan()
      .size("C", 12)
      .size("token_s", 16)
      .serial(
          [](const Sizes& s) {
            return serial::PairSlice(serial::PairSliceOptions{.token_s = s["token_s"], .rel_pos = {.token_z = s["C"]}});
          },
          [](auto& block, const Tensors& in) {
            return Tensors{{"z", block(serial::PairSliceFeatures::from(source_of(in)))}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairSlice(trunk::PairSliceOptions{.token_s = s["token_s"], .rel_pos = {.token_z = s["C"]}});
          },
          [](auto& block, const ShardedTensors& in) {
            return ShardedTensors{
                {"z", block(trunk::PairSliceFeatures{input_of(in), position_of(in), in.get<Pair>("token_bonds"),
                                                     in.get<Single>("token_pad_mask")})}};
          })
      // Embedder; projections and columns; twice norm, projection, triangles, norm, projection; the transition.
      .contraction(
          {"67", "token_s", "8", "C", "C", "N", "C", "C", "C", "C", "N", "C", "C", "C", "C", "C", "C", "C", "C"})
      .cost_size({{"N", 96}, {"C", 128}, {"token_s", 64}});
}

CPIZE_PARITY_MAIN(pair_slice)
