#include "trunk/msa/msa_module.hpp"

#include <ATen/ATen.h>

#include <vector>

#include "error/error.hpp"
#include "layout/redistribute.hpp"
#include "trunk/checkpointing/checkpoint.hpp"
#include "trunk/padding.hpp"

namespace cpize::trunk {

MsaFeatures zero_padding(const MsaFeatures& f, const Sharded<Single>& token_pad_mask) {
  const at::Tensor tokens = redistribute<SingleWhole>(token_pad_mask).local().ne(0).unsqueeze(1);  // [B,1,N]
  const at::Tensor rows = f.msa_mask.local().ne(0).any(2, /*keepdim=*/true);                       // [B,s,1]
  const auto valid = f.msa_mask.with(tokens.logical_and(rows));
  return {zero_where(f.msa, valid), zero_where(f.has_deletion, valid), zero_where(f.deletion_value, valid),
          zero_where(f.msa_paired, valid), f.msa_mask};
}

MsaFeatures select_rows(const MsaFeatures& f, const at::Tensor& kept) {
  // Small whole numbers and masks are exact in any floating-point dtype: all features travel as one tensor.
  const auto dtype = f.deletion_value.local().scalar_type();
  std::vector<at::Tensor> all;
  for (const auto* x : {&f.msa, &f.has_deletion, &f.deletion_value, &f.msa_paired, &f.msa_mask})
    all.push_back(x->local().to(dtype));
  const auto by_token = redistribute<MsaRow>(f.msa_mask.with(at::stack(all, -1)));
  Shape global = by_token.global();
  global[1] = kept.size(0);
  const auto rows = redistribute<Msa>(wrap<MsaRow>(by_token.local().index_select(1, kept), global, f.msa.mesh()));
  const auto feature = [&](std::int64_t i, const Sharded<Msa>& like) {
    return rows.with(rows.local().select(3, i).to(like.local().scalar_type()));
  };
  return {feature(0, f.msa), feature(1, f.has_deletion), feature(2, f.deletion_value), feature(3, f.msa_paired),
          feature(4, f.msa_mask)};
}

MsaModuleImpl::MsaModuleImpl(const MsaModuleOptions& o)
    : options(o),
      s_proj(register_module("s_proj", Projection(o.token_s, o.layer.msa_s))),
      msa_proj(register_module("msa_proj",
                               Projection(kMsaResidueTypes + 2 + (o.use_paired_feature ? 1 : 0), o.layer.msa_s))),
      layers(register_module("layers", torch::nn::ModuleList())) {
  for (std::int64_t i = 0; i < o.msa_blocks; ++i) layers->push_back(MsaLayer(o.layer));
}

Sharded<Msa> MsaModuleImpl::embed(const Sharded<Single>& s_inputs, const MsaFeatures& f) {
  const auto dtype = msa_proj->weight.scalar_type();
  std::vector<at::Tensor> channels{at::one_hot(f.msa.local(), kMsaResidueTypes).to(dtype),
                                   f.has_deletion.local().to(dtype).unsqueeze(-1),
                                   f.deletion_value.local().to(dtype).unsqueeze(-1)};
  if (options.use_paired_feature) channels.push_back(f.msa_paired.local().to(dtype).unsqueeze(-1));
  const at::Tensor m = at::linear(at::cat(channels, -1), msa_proj->weight);
  const auto tokens = redistribute<SingleWhole>(s_inputs.with(at::linear(s_inputs.local(), s_proj->weight)));
  return f.msa.with(m + tokens.local().unsqueeze(1));
}

Sharded<Pair> MsaModuleImpl::forward(Sharded<Pair> z, const Sharded<Single>& s_inputs, const MsaFeatures& given,
                                     const Sharded<Single>& token_pad_mask, const Dropout& dropout,
                                     const at::Tensor& permutation) {
  const Shape &tokens = token_pad_mask.global(), &rows = given.msa.global();
  if (s_inputs.global() != Shape{tokens[0], tokens[1], options.token_s})
    throw ContractError("MSA module takes s_inputs [B,N," + std::to_string(options.token_s) +
                        "] with B and N of the token mask");
  if (rows.size() != 3 || rows[0] != tokens[0] || rows[2] != tokens[1])
    throw ContractError("MSA module takes features [B,S,N] with B and N of the token mask");
  if (permutation.defined() != options.subsample_msa)
    throw ContractError("MSA module: a permutation of the rows belongs to subsample_msa, and only to it");

  MsaFeatures f = zero_padding(given, token_pad_mask);
  if (options.subsample_msa) f = select_rows(f, permutation.slice(0, 0, options.num_subsampled_msa));
  Sharded<Msa> m = embed(s_inputs, f);
  const Sharded<Pair> mask = pair_mask(token_pad_mask);
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const auto layer = layers->ptr<MsaLayerImpl>(i);
    const Dropout own = dropout.child("layers." + std::to_string(i));
    auto updated = options.checkpoint
                       ? checkpoint(
                             *layer,
                             [layer, own](const Sharded<Pair>& z, const Sharded<Msa>& m, const Sharded<Pair>& pairs,
                                          const Sharded<Msa>& rows) { return layer->forward(z, m, pairs, rows, own); },
                             z, m, mask, f.msa_mask)
                       : layer->forward(std::move(z), std::move(m), mask, f.msa_mask, own);
    z = std::move(updated.first);
    m = std::move(updated.second);
  }
  return z;
}

}  // namespace cpize::trunk
