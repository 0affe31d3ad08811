#include "serial/msa_module.hpp"

#include <ATen/Functions.h>

#include <vector>

#include "serial/padding.hpp"

namespace cpize::serial {

MsaFeatures MsaFeatures::from(const FeatureSource& features) {
  return {features("msa"), features("has_deletion"), features("deletion_value"), features("msa_paired"),
          features("msa_mask")};
}

MsaFeatures zero_padding(const MsaFeatures& f, const at::Tensor& token_pad_mask) {
  const at::Tensor rows = f.msa_mask.ne(0).any(2, /*keepdim=*/true);  // [B,S,1]
  const at::Tensor valid = token_pad_mask.ne(0).unsqueeze(1).logical_and(rows);
  const auto clean = [&](const at::Tensor& x) { return zero_padding(x, valid); };
  return {clean(f.msa), clean(f.has_deletion), clean(f.deletion_value), clean(f.msa_paired), f.msa_mask};
}

MsaModuleImpl::MsaModuleImpl(const MsaModuleOptions& o)
    : options(o),
      s_proj(register_module("s_proj", plain_linear(o.token_s, o.layer.msa_s))),
      msa_proj(register_module("msa_proj",
                               plain_linear(kMsaResidueTypes + 2 + (o.use_paired_feature ? 1 : 0), o.layer.msa_s))),
      layers(register_module("layers", torch::nn::ModuleList())) {
  for (int64_t i = 0; i < o.msa_blocks; ++i) layers->push_back(MsaLayer(o.layer));
}

at::Tensor MsaModuleImpl::forward(at::Tensor z, const at::Tensor& s_inputs, const MsaFeatures& given,
                                  const at::Tensor& token_pad_mask, const Dropout& dropout,
                                  const at::Tensor& permutation) {
  TORCH_CHECK(permutation.defined() == options.subsample_msa,
              "MSA module: a permutation of the rows belongs to subsample_msa, and only to it");
  const MsaFeatures f = zero_padding(given, token_pad_mask);
  const auto dtype = msa_proj->weight.scalar_type();
  std::vector<at::Tensor> channels{at::one_hot(f.msa, kMsaResidueTypes).to(dtype),
                                   f.has_deletion.to(dtype).unsqueeze(-1), f.deletion_value.to(dtype).unsqueeze(-1)};
  if (options.use_paired_feature) channels.push_back(f.msa_paired.to(dtype).unsqueeze(-1));
  at::Tensor m = at::cat(channels, -1), msa_mask = f.msa_mask;
  if (options.subsample_msa) {
    const at::Tensor kept = permutation.slice(0, 0, options.num_subsampled_msa);
    m = m.index_select(1, kept);
    msa_mask = msa_mask.index_select(1, kept);
  }
  m = msa_proj(m) + s_proj(s_inputs).unsqueeze(1);
  const at::Tensor mask = pair_mask(token_pad_mask);
  for (size_t i = 0; i < layers->size(); ++i)
    std::tie(z, m) =
        layers->ptr<MsaLayerImpl>(i)->forward(z, m, mask, msa_mask, dropout.child("layers." + std::to_string(i)));
  return z;
}

}  // namespace cpize::serial
