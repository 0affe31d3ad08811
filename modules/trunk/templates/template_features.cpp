#include "trunk/templates/template_features.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "layout/redistribute.hpp"

namespace cpize::trunk {
namespace {

struct TemplateCounts {
  static constexpr const char* name = "templates";
};
/// [B,T], the same on all ranks of a sample.
struct PerTemplate : Layout<TemplateCounts, On<dp>, On<>> {};

constexpr std::int64_t kTypes = 33, kNumbers = kTypes + 3 + 3 + 9 + 3 + 1 + 1 + 1;

void check(const TemplateFeatures& f) {
  const Shape& m = f.template_mask.global();
  if (m.size() != 3) throw ContractError("template features: template_mask must be [B,T,N]");
  const auto fits = [&](const Sharded<TemplateSingle>& x, Shape trailing, const char* name) {
    trailing.insert(trailing.begin(), m.begin(), m.end());
    if (x.global() != trailing)
      throw ContractError(std::string("template features: ") + name + " does not have the shape that template_mask " +
                          "[B,T,N] asks for");
  };
  fits(f.template_restype, {kTypes}, "template_restype");
  fits(f.template_frame_rot, {3, 3}, "template_frame_rot");
  fits(f.template_frame_t, {3}, "template_frame_t");
  fits(f.template_mask_frame, {}, "template_mask_frame");
  fits(f.template_cb, {3}, "template_cb");
  fits(f.template_ca, {3}, "template_ca");
  fits(f.template_mask_cb, {}, "template_mask_cb");
  if (f.asym_id.global() != Shape{m[0], m[2]}) throw ContractError("template features: asym_id must be [B,N]");
}

TemplateTokens unpack(const at::Tensor& packed) {
  std::int64_t at = 0;
  const auto next = [&](std::int64_t width) {
    at += width;
    return packed.narrow(-1, at - width, width);
  };
  TemplateTokens tokens;
  tokens.types = next(kTypes);
  tokens.cb = next(3);
  tokens.ca = next(3);
  tokens.rotation = next(9).unflatten(-1, {3, 3});
  tokens.origin = next(3);
  tokens.mask_cb = next(1).squeeze(-1);
  tokens.mask_frame = next(1).squeeze(-1);
  tokens.chain = next(1).squeeze(-1);
  return tokens;
}

}  // namespace

TemplateOperands TemplateOperands::gather(const TemplateFeatures& f, at::ScalarType dtype) {
  check(f);
  const at::NoGradGuard no_grad;
  const auto one = [&](const Sharded<TemplateSingle>& x) { return x.local().to(dtype).unsqueeze(-1); };
  const auto many = [&](const Sharded<TemplateSingle>& x) { return x.local().to(dtype).flatten(3); };
  const at::Tensor chain = f.asym_id.local().to(dtype).unsqueeze(1).unsqueeze(-1);  // exact: a small number
  const auto packed = f.template_mask.with(
      at::cat({many(f.template_restype), many(f.template_cb), many(f.template_ca), many(f.template_frame_rot),
               many(f.template_frame_t), one(f.template_mask_cb), one(f.template_mask_frame),
               chain.expand({-1, f.template_mask.global()[1], -1, -1})},
              /*dim=*/-1));
  static_assert(kNumbers == 54);
  return {unpack(redistribute<TemplateRow>(packed).local()), unpack(redistribute<TemplateCol>(packed).local())};
}

at::Tensor templates_given(const Sharded<TemplateSingle>& template_mask) {
  const Shape& m = template_mask.global();
  const at::Tensor tokens = (template_mask.local() != 0).sum(2).to(at::kLong);  // of this shard
  const auto all =
      redistribute<PerTemplate>(wrap<Partial<PerTemplate, cp0, cp1>>(tokens, {m[0], m[1]}, template_mask.mesh()));
  return all.local() > 0;
}

}  // namespace cpize::trunk
