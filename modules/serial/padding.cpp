#include "serial/padding.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {

at::Tensor pair_mask(const at::Tensor& token_pad_mask) {
  return token_pad_mask.unsqueeze(2) * token_pad_mask.unsqueeze(1);
}

at::Tensor zero_padding(const at::Tensor& x, const at::Tensor& mask) {
  at::Tensor valid = mask != 0;
  while (valid.dim() < x.dim()) valid = valid.unsqueeze(-1);
  return at::where(valid, x, at::zeros({}, x.options()));
}

TokenInputFeatures zero_padding(const TokenInputFeatures& f, const at::Tensor& mask) {
  return {zero_padding(f.res_type, mask), zero_padding(f.profile, mask), zero_padding(f.deletion_mean, mask)};
}

RelativePositionFeatures zero_padding(const RelativePositionFeatures& f, const at::Tensor& mask) {
  return {zero_padding(f.asym_id, mask),     zero_padding(f.residue_index, mask), zero_padding(f.entity_id, mask),
          zero_padding(f.token_index, mask), zero_padding(f.sym_id, mask),        zero_padding(f.cyclic_period, mask)};
}

}  // namespace cpize::serial
