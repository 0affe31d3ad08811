// Golden operations of the pairformer: attention with pair bias, layers and stacks.
#include "parity/serial/operations/operations.hpp"
#include "serial/attention_pair_bias.hpp"

namespace cpize::parity {
namespace {

GoldenOperation attention_pair_bias(const GoldenCase&, GoldenArguments& arguments) {
  serial::AttentionPairBiasOptions options;
  options.c_s = arguments.integer("c_s");
  options.num_heads = arguments.integer("num_heads");
  options.compute_pair_bias = arguments.boolean_or("compute_pair_bias", true);
  options.c_z = arguments.integer_or("c_z", options.c_z);
  const int64_t multiplicity = arguments.call_integer("multiplicity").value_or(1);
  serial::AttentionPairBias block(options);
  return {block.ptr(), [block, multiplicity](GoldenArguments& in) mutable {
            return safetensors::Tensors{
                {"out", block(in.input("s"), in.input("z"), in.input("mask"), in.input("k_in"), multiplicity)}};
          }};
}

}  // namespace

GoldenOperations pairformer_operations() {
  return {
      {"boltz.model.layers.attentionv2.AttentionPairBias", attention_pair_bias},
  };
}

}  // namespace cpize::parity
