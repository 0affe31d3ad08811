// Parity of contact conditioning, with the gradient of its threshold.
#include "trunk/input/contact_conditioning.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/input/conditioning_features.hpp"
#include "serial/contact_conditioning.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase contact_conditioning() {
  return with_contacts(BlockCase("contact_conditioning").mask<Single>("token_pad_mask", {"B", "N"}))
      .output("y", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .serial([](const Sizes& s) { return serial::ContactConditioning(s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(serial::ContactFeatures::from(source_of(in)))}};
              })
      .port([](const Sizes& s) { return trunk::ContactConditioning(s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"y", block(trunk::ContactFeatures{in.get<Pair>("contact_conditioning"),
                                                                       in.get<Pair>("contact_threshold")})}};
            })
      .contraction({"100", "C", "7"})  // the Fourier embedding (see its case), then the encoder
      .zero_gradient(frozen_projection("fourier_embedding."))
      .cost_size({{"N", 144}, {"C", 64}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 2 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 2 * p.b(); });
}

CPIZE_PARITY_MAIN(contact_conditioning)
