// Parity of the token part of the input embedder.
#include "trunk/token_input_embedder.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/token_features.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase token_input_embedder() {
  return with_input(BlockCase("token_input_embedder").mask<Single>("token_pad_mask", {"B", "N"}))
      .output("s_inputs", {"B", "N", "C"})
      .masked_by("token_pad_mask")
      .serial([](const Sizes& s) { return serial::TokenInputEmbedder(s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"s_inputs", block(serial::TokenInputFeatures::from(source_of(in)))}};
              })
      .port([](const Sizes& s) { return trunk::TokenInputEmbedder(s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"s_inputs", block(input_of(in))}};
            })
      .contraction({"33", "34"})
      .cost_size({{"N", 96}, {"C", 128}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; });
}

CPIZE_PARITY_MAIN(token_input_embedder)
