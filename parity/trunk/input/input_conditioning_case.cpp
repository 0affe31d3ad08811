// Parity of input conditioning: the input embedder without its atom encoder.
#include "trunk/input/input_conditioning.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/token_features.hpp"
#include "serial/input_conditioning.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase input_conditioning() {
  BlockCase block = with_input(BlockCase("input_conditioning").mask<Single>("token_pad_mask", {"B", "N"}));
  // Classes; their padding holds a class, too, which is what a composition's entry leaves.
  const std::vector<std::pair<const char*, std::int64_t>> classes{
      {"method_feature", 12}, {"modified", 2}, {"mol_type", 4}};
  for (const auto& [name, bound] : classes) block.feature<Single>(name, {"B", "N"}).values(token_ids(bound));
  block.feature<Single>("cyclic_period", {"B", "N"}).values(token_ids(2, 12)).masked_by("token_pad_mask");
  return block.output("s_inputs", {"B", "N", "C"})
      .masked_by("token_pad_mask")
      .serial([](const Sizes& s) { return serial::InputConditioning(s["C"]); },
              [](auto& embedder, const Tensors& in) {
                return Tensors{{"s_inputs", embedder(serial::InputConditioningFeatures::from(source_of(in)))}};
              })
      .port([](const Sizes& s) { return trunk::InputConditioning(s["C"]); },
            [](auto& embedder, const ShardedTensors& in) {
              const auto feature = [&](const char* name) { return in.get<Single>(name); };
              return ShardedTensors{{"s_inputs", embedder(trunk::InputConditioningFeatures{
                                                     input_of(in), feature("method_feature"), feature("modified"),
                                                     feature("cyclic_period"), feature("mol_type")})}};
            })
      .contraction({"33", "34", "4"})
      .cost_size({{"N", 96}, {"C", 128}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; });
}

CPIZE_PARITY_MAIN(input_conditioning)
