// Golden operations of the trunk's input.
#include "parity/serial/operations/operations.hpp"
#include "serial/contact_conditioning.hpp"
#include "serial/relative_position_encoder.hpp"

namespace cpize::parity {
namespace {

GoldenOperation relative_position(const GoldenCase&, GoldenArguments& arguments) {
  serial::RelativePositionOptions options;
  options.token_z = arguments.integer("token_z");
  options.r_max = arguments.integer_or("r_max", options.r_max);
  options.s_max = arguments.integer_or("s_max", options.s_max);
  options.fix_sym_check = arguments.boolean("fix_sym_check");
  options.cyclic_pos_enc = arguments.boolean("cyclic_pos_enc");
  serial::RelativePositionEncoder block(options);
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            const auto source = [&in](const std::string& name) { return in.input("feats." + name); };
            return safetensors::Tensors{{"p", block(serial::RelativePositionFeatures::from(source))}};
          }};
}

GoldenOperation fourier_embedding(const GoldenCase&, GoldenArguments& arguments) {
  serial::FourierEmbedding block(arguments.integer("dim"));
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            return safetensors::Tensors{{"out", block(in.input("times"))}};
          }};
}

GoldenOperation contact_conditioning(const GoldenCase&, GoldenArguments& arguments) {
  serial::ContactConditioningOptions options;
  options.cutoff_min = arguments.number("cutoff_min");
  options.cutoff_max = arguments.number("cutoff_max");
  serial::ContactConditioning block(arguments.integer("token_z"), options);
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            const auto source = [&in](const std::string& name) { return in.input("feats." + name); };
            return safetensors::Tensors{{"out", block(serial::ContactFeatures::from(source))}};
          }};
}

}  // namespace

GoldenOperations input_operations() {
  return {
      {"boltz.model.modules.encodersv2.RelativePositionEncoder", relative_position},
      {"boltz.model.modules.encodersv2.FourierEmbedding", fourier_embedding},
      {"boltz.model.modules.trunkv2.ContactConditioning", contact_conditioning},
  };
}

}  // namespace cpize::parity
