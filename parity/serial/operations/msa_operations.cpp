// Golden operations of the MSA track: outer product mean, pair-weighted averaging.
#include "parity/serial/operations/operations.hpp"
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

}  // namespace

GoldenOperations msa_operations() {
  return {
      {"boltz.model.layers.outer_product_mean.OuterProductMean", outer_product_mean},
      {"boltz.model.layers.pair_averaging.PairWeightedAveraging", pair_weighted_averaging},
  };
}

}  // namespace cpize::parity
