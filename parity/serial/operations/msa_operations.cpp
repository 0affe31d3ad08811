// Golden operations of the MSA track: outer product mean, pair-weighted averaging, layers and modules.
#include "parity/serial/operations/operations.hpp"
#include "serial/msa_module.hpp"
#include "serial/outer_product_mean.hpp"
#include "serial/pair_weighted_averaging.hpp"

namespace cpize::parity {
namespace {

GoldenOperation outer_product_mean(const GoldenCase&, GoldenArguments& arguments) {
  serial::OuterProductMean block(arguments.integer("c_in"), arguments.integer("c_hidden"), arguments.integer("c_out"));
  const int64_t chunk_size = arguments.call_integer("chunk_size").value();
  return {block.ptr(), [block, chunk_size](GoldenArguments& in) mutable {
            const at::Tensor m = in.input("m"), mask = in.input("mask");
            return safetensors::Tensors{{"out", block(m, mask)}, {"out_chunked", block(m, mask, chunk_size)}};
          }};
}

GoldenOperation pair_weighted_averaging(const GoldenCase&, GoldenArguments& arguments) {
  serial::PairWeightedAveraging block(arguments.integer("c_m"), arguments.integer("c_z"), arguments.integer("c_h"),
                                      arguments.integer("num_heads"));
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            const at::Tensor m = in.input("m"), z = in.input("z"), mask = in.input("mask");
            return safetensors::Tensors{{"out", block(m, z, mask)}, {"out_chunked", block(m, z, mask, true)}};
          }};
}

serial::MsaLayerOptions layer_options(GoldenArguments& arguments) {
  return {.msa_s = arguments.integer("msa_s"),
          .token_z = arguments.integer("token_z"),
          .msa_dropout = arguments.number("msa_dropout"),  // of training; the vectors are of evaluation
          .z_dropout = arguments.number("z_dropout"),
          .pairwise_head_width = arguments.integer("pairwise_head_width"),
          .pairwise_num_heads = arguments.integer("pairwise_num_heads")};
}

GoldenOperation layer(const GoldenCase&, GoldenArguments& arguments) {
  serial::MsaLayer block(layer_options(arguments));
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            const auto [z, m] = block(in.input("z"), in.input("m"), in.input("token_mask"), in.input("msa_mask"));
            return safetensors::Tensors{{"z", z}, {"m", m}};
          }};
}

GoldenOperation module(const GoldenCase&, GoldenArguments& arguments) {
  serial::MsaModuleOptions options{.layer = layer_options(arguments),
                                   .token_s = arguments.integer("token_s"),
                                   .msa_blocks = arguments.integer("msa_blocks"),
                                   .use_paired_feature = arguments.boolean("use_paired_feature"),
                                   .subsample_msa = arguments.boolean_or("subsample_msa", false)};
  options.num_subsampled_msa = arguments.integer_or("num_subsampled_msa", options.num_subsampled_msa);
  serial::MsaModule block(options);
  return {block.ptr(), [block, options](GoldenArguments& in) mutable {
            const auto source = [&in](const std::string& name) { return in.input("feats." + name); };
            const at::Tensor permutation = options.subsample_msa ? in.input("rand.000") : at::Tensor();
            return safetensors::Tensors{{"z", block(in.input("z"), in.input("emb"), serial::MsaFeatures::from(source),
                                                    in.input("feats.token_pad_mask"), serial::Dropout(), permutation)}};
          }};
}

}  // namespace

GoldenOperations msa_operations() {
  return {
      {"boltz.model.layers.outer_product_mean.OuterProductMean", outer_product_mean},
      {"boltz.model.layers.pair_averaging.PairWeightedAveraging", pair_weighted_averaging},
      {"boltz.model.modules.trunkv2.MSALayer", layer},
      {"boltz.model.modules.trunkv2.MSAModule", module},
  };
}

}  // namespace cpize::parity
