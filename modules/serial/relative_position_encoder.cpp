#include "serial/relative_position_encoder.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {
namespace {

at::Tensor difference(const at::Tensor& id) { return id.unsqueeze(2) - id.unsqueeze(1); }
at::Tensor equal(const at::Tensor& id) { return id.unsqueeze(2) == id.unsqueeze(1); }

/// Class of an offset: clip(offset + max, 0, 2 max), and 2 max + 1 where the offset means nothing.
at::Tensor offset_class(const at::Tensor& offset, int64_t max, const at::Tensor& meaningful) {
  return at::where(meaningful, (offset + max).clamp(0, 2 * max), at::full({}, 2 * max + 1, offset.options()));
}

constexpr int64_t classes(int64_t max) { return 2 * max + 2; }
constexpr int64_t channels(const RelativePositionOptions& o) { return 2 * classes(o.r_max) + 1 + classes(o.s_max); }

}  // namespace

RelativePositionFeatures RelativePositionFeatures::from(const FeatureSource& features) {
  return {features("asym_id"),     features("residue_index"), features("entity_id"),
          features("token_index"), features("sym_id"),        features("cyclic_period")};
}

RelativePositionEncoderImpl::RelativePositionEncoderImpl(const RelativePositionOptions& options)
    : options(options),
      linear_layer(register_module("linear_layer", plain_linear(channels(options), options.token_z))) {}

at::Tensor RelativePositionEncoderImpl::residue_offset(const RelativePositionFeatures& features) const {
  const at::Tensor offset = difference(features.residue_index);
  if (!options.cyclic_pos_enc) return offset;
  // The published code takes 10000 as the period of an open chain. Division in fp64, so that it rounds to the right
  // winding.
  constexpr double kOpenChainPeriod = 10000;
  const at::Tensor given = features.cyclic_period.to(at::kDouble).unsqueeze(1);
  const at::Tensor period = at::where(given > 0, given, at::full({}, kOpenChainPeriod, given.options()));
  const at::Tensor windings = at::round(offset.to(at::kDouble) / period);
  return (offset.to(at::kDouble) - period * windings).to(at::kLong);
}

at::Tensor RelativePositionEncoderImpl::forward(const RelativePositionFeatures& f) {
  const at::Tensor same_chain = equal(f.asym_id);
  const at::Tensor same_residue = equal(f.residue_index);
  const at::Tensor same_entity = equal(f.entity_id);
  const at::Tensor copies_comparable = options.fix_sym_check ? same_entity : same_chain.logical_not();
  const at::Tensor residue = offset_class(residue_offset(f), options.r_max, same_chain);
  const at::Tensor token = offset_class(difference(f.token_index), options.r_max, same_chain & same_residue);
  const at::Tensor copy = offset_class(difference(f.sym_id), options.s_max, copies_comparable);
  const auto one_hot = [&](const at::Tensor& index, int64_t max) {
    return at::one_hot(index.to(at::kLong), classes(max))
        .to(linear_layer->weight.scalar_type());  // 0 and 1: exact in every dtype
  };
  return linear_layer(
      at::cat({one_hot(residue, options.r_max), one_hot(token, options.r_max),
               same_entity.to(linear_layer->weight.scalar_type()).unsqueeze(-1), one_hot(copy, options.s_max)},
              -1));
}

}  // namespace cpize::serial
