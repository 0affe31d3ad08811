// Golden operations of the heads that read the trunk.
#include "parity/serial/operations/operations.hpp"
#include "serial/bfactor.hpp"
#include "serial/distogram.hpp"

namespace cpize::parity {
namespace {

GoldenOperation distogram(const GoldenCase&, GoldenArguments& arguments) {
  serial::DistogramModule block(arguments.integer("token_z"), arguments.integer("num_bins"),
                                arguments.integer_or("num_distograms", 1));
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            return safetensors::Tensors{{"out", block(in.input("z"))}};
          }};
}

GoldenOperation bfactor(const GoldenCase&, GoldenArguments& arguments) {
  serial::BFactorModule block(arguments.integer("token_s"), arguments.integer("num_bins"));
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            return safetensors::Tensors{{"out", block(in.input("s"))}};
          }};
}

}  // namespace

GoldenOperations head_operations() {
  return {
      {"boltz.model.modules.trunkv2.DistogramModule", distogram},
      {"boltz.model.modules.trunkv2.BFactorModule", bfactor},
  };
}

}  // namespace cpize::parity
