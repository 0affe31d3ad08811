// The closed forms of the parts, from the headers that bound their parity cases, put together as the models put them.
#include <algorithm>

#include "bench/scaling/scaling_model.hpp"
#include "parity/trunk/msa/msa_layer_case.hpp"

namespace cpize::bench {
namespace {

using parity::CostPoint;

double at(const CostPoint& p, const char* letter) { return static_cast<double>(p.sizes[letter]); }

/// `channels` a token to the other ranks of its row and to its column.
double to_lines(const CostPoint& p, double channels) {
  const int rows = p.mesh.extent(Axis::cp0), columns = p.mesh.extent(Axis::cp1);
  const double tokens = std::ceil(at(p, "N") / p.q());
  return p.element_bytes * tokens * channels * (columns - 1 + (columns > 1 && rows > 1 ? rows : rows - 1));
}
/// Likewise to every rank.
double to_everybody(const CostPoint& p, double channels) {
  return p.element_bytes * std::ceil(at(p, "N") / p.q()) * channels * (p.q() - 1);
}

double layer_forward(const CostPoint& p) {
  return parity::pair_track_forward_bytes(p) + parity::attention_forward_bytes(parity::single_track(p));
}
double layer_backward(const CostPoint& p) {
  return parity::pair_track_backward_bytes(p) + parity::attention_backward_bytes(parity::single_track(p));
}

/// The masks of an entry: the outer product of the token mask, and for the MSA the mask whole.
double masks(const CostPoint& p) { return p.q() > 1 ? parity::pair_mask_bytes(p) : 0; }

/// One pass of the trunk.
double pass_forward(const CostPoint& p) {
  return masks(p) + parity::whole_mask_bytes(p) + to_everybody(p, at(p, "M")) +
         at(p, "msa_blocks") * parity::msa_layer_forward_bytes(p) + at(p, "blocks") * layer_forward(p);
}
double pass_backward(const CostPoint& p) {
  return to_everybody(p, at(p, "M")) + at(p, "msa_blocks") * parity::msa_layer_backward_bytes(p) +
         at(p, "blocks") * layer_backward(p);
}
/// Checkpointed layers run again.
double pass_again(const CostPoint& p) {
  return at(p, "msa_blocks") * parity::msa_layer_forward_bytes(p) + at(p, "blocks") * layer_forward(p);
}
/// What a head of pairs transposes: at most a whole shard of its narrower side.
double transposed(const CostPoint& p) { return p.q() > 1 ? p.b("1") * std::min(at(p, "C"), at(p, "bins")) : 0; }

}  // namespace

double sent_bytes_formula(const std::string& model, const CostPoint& p, bool step, std::int64_t parameter_count) {
  const double gradients =
      2 * std::max(4., p.element_bytes) * static_cast<double>(parameter_count) * (p.mesh.size() - 1) / p.mesh.size();
  if (model == "pairformer_layer") return layer_forward(p) + (step ? layer_backward(p) + gradients : 0);
  const double start = to_lines(p, at(p, "C") + 6 * 8 / p.element_bytes);
  const double forward = masks(p) + start + at(p, "passes") * pass_forward(p) + transposed(p);
  if (!step) return forward;
  return forward + pass_again(p) + pass_backward(p) + to_lines(p, at(p, "C")) + transposed(p) + gradients;
}

}  // namespace cpize::bench
