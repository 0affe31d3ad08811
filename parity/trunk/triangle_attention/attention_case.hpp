// The parity case of a triangle attention, for both nodes.
#pragma once
#include "parity/harness/block_case.hpp"
#include "serial/padding.hpp"
#include "serial/triangle_attention.hpp"
#include "trunk/padding.hpp"
#include "trunk/triangle_attention/triangle_attention.hpp"

namespace cpize::parity {

/// What goes to rows and back: P ranks share a row.
inline double attention_rows_bytes(const CostPoint& p, Axis along, double channels) {
  const double ranks = p.mesh.extent(along);
  return channels / static_cast<double>(p.sizes["C"]) * p.b() * (ranks - 1) / ranks;
}

/// The bias to all, or its gradient home, in `element_bytes`.
inline double attention_bias_bytes(const CostPoint& p, double element_bytes) {
  return p.b("H") * (p.q() - 1) * element_bytes / p.element_bytes;
}

/// Small problems run in many panels, larger ones (fp32, bf16, costs) in those of the default. The mask is one of
/// tokens: the bias of query i and key j comes from pair (i, j) in every row, so of a mask of pairs that is no outer
/// product masked pairs do matter (attention_test.cpp). `Port` is the port's module holder; H heads of width D. Costs
/// at N = 144, C = 128 (which all meshes divide), with the bounds of the design: z to rows and y back, the bias to all,
/// masks; peaks 4 b and 7 b, 2 b saved.
template <class Port>
BlockCase attention_case(const std::string& name, serial::TriangleNode node) {
  const Axis along = node == serial::TriangleNode::starting ? cp1 : cp0;
  return BlockCase(name)
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Single>("mask", {"B", "N"})
      .output("y", {"B", "N", "N", "C"})
      .masked_by("mask")
      .serial([node](const Sizes& s) { return serial::TriangleAttention(s["C"], s["D"], s["H"], node); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(in["z"], serial::pair_mask(in["mask"]))}};
              })
      .port(
          [](const Sizes& s) {
            return Port(s["C"], s["D"], s["H"],
                        trunk::TriangleAttentionOptions{.score_elements = s["N"] < 20 ? 30 : 0});
          },
          [](auto& block, const ShardedTensors& in) {
            return ShardedTensors{{"y", block(in.get<Pair>("z"), trunk::pair_mask(in.get<Single>("mask")))}};
          })
      // Norm, projections, scores, softmax, values, output projection.
      .contraction({"C", "C", "D", "N", "N", "C"})
      .size("C", 8)
      .size("D", 3)
      .size("H", 2)
      .fused_size({{"N", 97}, {"C", 128}, {"D", 32}, {"H", 4}})
      .cost_size({{"N", 144}, {"C", 128}, {"D", 32}, {"H", 4}})
      .bound("sent_bytes.forward",
             [along](const CostPoint& p) {
               const double tokens = 2 * 8 * static_cast<double>(p.sizes["B"] * p.sizes["N"]);
               return attention_rows_bytes(p, along, 2 * static_cast<double>(p.sizes["C"]) + 1) +
                      attention_bias_bytes(p, p.element_bytes) + tokens;
             })
      .bound("sent_bytes.backward",
             [along](const CostPoint& p) {
               return attention_rows_bytes(p, along, 3 * static_cast<double>(p.sizes["C"])) +
                      attention_bias_bytes(p, p.element_bytes) +
                      attention_bias_bytes(p, std::max(p.element_bytes, 4.0));  // a sum: at least fp32
             })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 4 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 7 * p.b(); })
      .bound("saved_bytes", [](const CostPoint& p) { return 2 * p.b(); });
}

}  // namespace cpize::parity
