// Random templates, for the cases whose blocks read them. Sizes: T templates.
//
// They are declared with tokens first, [B,N,T,..], so that a token's mask says where their padding is; the blocks take
// [B,T,N,..].
#pragma once
#include "parity/trunk/token_features.hpp"
#include "serial/template_module.hpp"
#include "trunk/templates/template_features.hpp"

namespace cpize::parity {

/// Normal coordinates whose distances are in all bins, frames that are no rotations. All features but asym_id, which
/// with_position declares for those who have it.
inline BlockCase with_templates(BlockCase block, const std::string& mask) {
  const auto normal = [](std::vector<std::int64_t> trailing, double scale) -> ValueSource {
    return [=](const Sizes& s, at::Generator& g) {
      std::vector<std::int64_t> shape{s["B"], s["N"], s["T"]};
      shape.insert(shape.end(), trailing.begin(), trailing.end());
      return at::randn(shape, g, at::TensorOptions().dtype(at::kDouble)) * scale;
    };
  };
  const auto zeros_and_ones = [](const Sizes& s, at::Generator& g) {
    return (uniform({s["B"], s["N"], s["T"]}, g) > 0.3).to(at::kDouble);
  };
  const auto types = [](const Sizes& s, at::Generator& g) {
    return at::one_hot(at::randint(0, 33, {s["B"], s["N"], s["T"]}, g, at::TensorOptions().dtype(at::kLong)), 33);
  };
  block.feature<Single>("template_restype", {"B", "N", "T", "33"}).values(types).masked_by(mask);
  block.feature<Single>("template_frame_rot", {"B", "N", "T", "3", "3"}).values(normal({3, 3}, 1)).masked_by(mask);
  for (const char* name : {"template_frame_t", "template_cb", "template_ca"})
    block.feature<Single>(name, {"B", "N", "T", "3"}).values(normal({3}, 12)).masked_by(mask);
  // Masks hold 0 where there is padding, as the features do that they say something about.
  for (const char* name : {"template_mask_frame", "template_mask_cb"})
    block.feature<Single>(name, {"B", "N", "T"}).values(zeros_and_ones);
  return block.mask<Single>("template_mask", {"B", "N", "T"});
}

/// For the serial blocks' `from`: a feature as the blocks take it.
inline at::Tensor as_templates(const std::string& name, const at::Tensor& x) {
  return name.starts_with("template_") ? x.transpose(1, 2) : x;
}

inline serial::TemplateFeatures serial_templates(const Tensors& in) {
  return serial::TemplateFeatures::from([&in](const std::string& name) { return as_templates(name, in[name]); });
}

inline trunk::TemplateFeatures port_templates(const ShardedTensors& in) {
  const auto feature = [&](const char* name) {
    const auto given = in.get<Single>(name);
    Shape shape = given.global();
    std::swap(shape[1], shape[2]);
    return wrap<trunk::TemplateSingle>(given.local().transpose(1, 2), shape, given.mesh());
  };
  return {in.get<Single>("asym_id"),   feature("template_restype"),    feature("template_frame_rot"),
          feature("template_frame_t"), feature("template_mask_frame"), feature("template_cb"),
          feature("template_ca"),      feature("template_mask_cb"),    feature("template_mask")};
}

}  // namespace cpize::parity
