// Random features of bonds and contacts, for the cases whose blocks read them: as the feature readers make them.
#pragma once
#include "parity/trunk/token_features.hpp"

namespace cpize::parity {

/// Classes in [0, bound), one a pair; their padding holds a class, too, which is what a composition's entry leaves.
inline ValueSource pair_classes(std::int64_t bound) {
  return [=](const Sizes& s, at::Generator& g) {
    return at::randint(0, bound, {s["B"], s["N"], s["N"]}, g, at::TensorOptions().dtype(at::kLong));
  };
}

inline BlockCase with_bond_types(BlockCase block) {
  block.feature<Pair>("type_bonds", {"B", "N", "N"}).values(pair_classes(7));
  return block;
}

/// One-hot classes, and thresholds inside and outside the cutoffs, which are differentiable.
inline BlockCase with_contacts(BlockCase block) {
  const auto classes = [](const Sizes& s, at::Generator& g) {
    return at::one_hot(pair_classes(5)(s, g), 5).to(at::kDouble);
  };
  const auto threshold = [](const Sizes& s, at::Generator& g) { return uniform({s["B"], s["N"], s["N"]}, g) * 20 + 2; };
  block.feature<Pair>("contact_conditioning", {"B", "N", "N", "5"}).values(classes).masked_by("token_pad_mask");
  block.input<Pair>("contact_threshold", {"B", "N", "N"}).values(threshold).masked_by("token_pad_mask");
  return block;
}

/// The projection that nothing trains; a gradient of zero is not compared with rounding.
inline std::vector<std::string> frozen_projection(const std::string& prefix = "") {
  return {prefix + "proj.weight", prefix + "proj.bias"};
}

}  // namespace cpize::parity
