// Parity of pair initialisation with all its parts: outer sum, relative position, bonds, their types and contacts.
#include "trunk/pair_initialisation.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/input/conditioning_features.hpp"
#include "serial/pair_initialisation.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase pair_initialisation() {
  return with_contacts(with_bond_types(with_bonds(with_position(
                           BlockCase("pair_initialisation")
                               .mask<Single>("token_pad_mask", {"B", "N"})  // not read: says where the padding is
                               .input<Single>("s_inputs", {"B", "N", "token_s"})
                               .masked_by("token_pad_mask")))))
      .output("z", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .size("token_s", 12)
      .serial(
          [](const Sizes& s) {
            return serial::PairInitialisation(
                s["token_s"], serial::RelativePositionOptions{.token_z = s["C"]},
                serial::PairInitialisationOptions{.bond_types = true, .contact = serial::ContactConditioningOptions{}});
          },
          [](auto& block, const Tensors& in) {
            const auto position = serial::RelativePositionFeatures::from(source_of(in));
            return Tensors{{"z", block(in["s_inputs"], position, in["token_bonds"],
                                       serial::PairConditioningFeatures::from(source_of(in)))}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairInitialisation(
                s["token_s"], trunk::RelativePositionOptions{.token_z = s["C"]},
                trunk::PairInitialisationOptions{.bond_types = true, .contact = trunk::ContactConditioningOptions{}});
          },
          [](auto& block, const ShardedTensors& in) {
            const trunk::PairConditioningFeatures conditioning{
                in.get<Pair>("type_bonds"),
                trunk::ContactFeatures{in.get<Pair>("contact_conditioning"), in.get<Pair>("contact_threshold")}};
            return ShardedTensors{
                {"z", block(in.get<Single>("s_inputs"), position_of(in), in.get<Pair>("token_bonds"), conditioning)}};
          })
      .contraction({"token_s", "token_s", "N", "6", "100", "C", "7"})  // the last three are the contacts'
      .zero_gradient(frozen_projection("contact_conditioning.fourier_embedding."))
      .cost_size({{"N", 144}, {"C", 64}, {"token_s", 32}})
      .bound("sent_bytes.forward",
             // the six ids take 8 bytes each, whatever the dtype of activations
             [](const CostPoint& p) {
               return token_bytes(p, static_cast<double>(p.sizes["C"]) + 6 * 8 / p.element_bytes);
             })
      .bound("sent_bytes.backward",
             [](const CostPoint& p) { return token_bytes(p, static_cast<double>(p.sizes["C"])); })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 2 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 3 * p.b(); });
}

CPIZE_PARITY_MAIN(pair_initialisation)
