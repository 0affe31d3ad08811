// Parity of the incoming triangle multiplication.
#include "trunk/tri_mul_in.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/triangle_costs.hpp"
#include "serial/triangle_multiplication.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase tri_mul_in() {
  return triangle_costs(BlockCase("tri_mul_in")
                            .input<Pair>("z", {"B", "N", "N", "C"})
                            .masked_by("mask")
                            .mask<Pair>("mask", {"B", "N", "N"})
                            .output("y", {"B", "N", "N", "C"})
                            .masked_by("mask")
                            .serial(
                                [](const Sizes& s) {
                                  return serial::TriangleMultiplication(s["C"], serial::TriangleDirection::incoming);
                                },
                                [](auto& block, const Tensors& in) {
                                  return Tensors{{"y", block(in["z"], in["mask"])}};
                                })
                            .port([](const Sizes& s) { return trunk::TriMulIn(s["C"]); },
                                  [](auto& block, const ShardedTensors& in) {
                                    return ShardedTensors{{"y", block(in.get<Pair>("z"), in.get<Pair>("mask"))}};
                                  })
                            .contraction({"C", "N", "C"}));
}

CPIZE_PARITY_MAIN(tri_mul_in)
