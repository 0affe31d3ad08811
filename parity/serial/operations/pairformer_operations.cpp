// Golden operations of the pairformer: attention with pair bias, layers and stacks.
#include "error/error.hpp"
#include "parity/serial/operations/operations.hpp"
#include "serial/attention_pair_bias.hpp"
#include "serial/pairformer.hpp"

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

serial::PairformerOptions pairformer_options(GoldenArguments& arguments) {
  serial::PairformerOptions options;
  options.dropout = arguments.number("dropout");  // of training; the vectors are of evaluation
  options.pairwise_head_width = arguments.integer("pairwise_head_width");
  options.pairwise_num_heads = arguments.integer("pairwise_num_heads");
  options.num_heads = arguments.integer_or("num_heads", options.num_heads);
  options.post_layer_norm = arguments.boolean_or("post_layer_norm", false);
  return options;
}

template <class Block>
GoldenOperation pair_track(Block block) {
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            return safetensors::Tensors{{"z", block(in.input("z"), in.input("pair_mask"))}};
          }};
}
GoldenOperation noseq_layer(const GoldenCase&, GoldenArguments& arguments) {
  return pair_track(serial::PairformerNoSeqLayer(arguments.integer("token_z"), pairformer_options(arguments)));
}
GoldenOperation noseq_module(const GoldenCase&, GoldenArguments& arguments) {
  return pair_track(serial::PairformerNoSeqModule(arguments.integer("token_z"), arguments.integer("num_blocks"),
                                                  pairformer_options(arguments)));
}

template <class Block>
GoldenOperation both_tracks(Block block) {
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            const auto [s, z] = block(in.input("s"), in.input("z"), in.input("mask"), in.input("pair_mask"));
            return safetensors::Tensors{{"s", s}, {"z", z}};
          }};
}
/// The published layer with v2 = false is another block, which needs other parameters.
void check_version(GoldenArguments& arguments) {
  if (!arguments.boolean("v2")) throw NotImplemented("a pairformer of the first version");
}
GoldenOperation layer(const GoldenCase&, GoldenArguments& arguments) {
  check_version(arguments);
  return both_tracks(serial::PairformerLayer(arguments.integer("token_s"), arguments.integer("token_z"),
                                             pairformer_options(arguments)));
}
GoldenOperation module(const GoldenCase&, GoldenArguments& arguments) {
  check_version(arguments);
  return both_tracks(serial::PairformerModule(arguments.integer("token_s"), arguments.integer("token_z"),
                                              arguments.integer("num_blocks"), pairformer_options(arguments)));
}

}  // namespace

GoldenOperations pairformer_operations() {
  return {
      {"boltz.model.layers.attentionv2.AttentionPairBias", attention_pair_bias},
      {"boltz.model.layers.pairformer.PairformerNoSeqLayer", noseq_layer},
      {"boltz.model.layers.pairformer.PairformerNoSeqModule", noseq_module},
      {"boltz.model.layers.pairformer.PairformerLayer", layer},
      {"boltz.model.layers.pairformer.PairformerModule", module},
  };
}

}  // namespace cpize::parity
