#include "serial/trunk.hpp"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <string>

#include "serial/padding.hpp"

namespace cpize::serial {
namespace {

TrunkFeatures zero_padding(const TrunkFeatures& f, const at::Tensor& pairs) {
  const at::Tensor& tokens = f.token_pad_mask;
  const auto clean = [](const at::Tensor& x, const at::Tensor& mask) {
    return x.defined() ? serial::zero_padding(x, mask) : x;
  };
  TrunkFeatures out = f;
  out.input.input = serial::zero_padding(f.input.input, tokens);
  for (at::Tensor* x : {&out.input.method_feature, &out.input.modified, &out.input.cyclic_period, &out.input.mol_type})
    *x = clean(*x, tokens);
  out.position = serial::zero_padding(f.position, tokens);
  for (at::Tensor* x : {&out.token_bonds, &out.conditioning.type_bonds, &out.conditioning.contact.contact_conditioning,
                        &out.conditioning.contact.contact_threshold})
    *x = clean(*x, pairs);
  if (f.templates) {
    const at::Tensor in_templates = tokens.unsqueeze(1);  // [B,1,N] of [B,T,N,...]
    const auto clean_template = [&](const at::Tensor& x) {
      return serial::zero_padding(x, in_templates.expand({-1, x.size(1), -1}));
    };
    out.templates->asym_id = clean(f.templates->asym_id, tokens);
    for (at::Tensor TemplateFeatures::*x :
         {&TemplateFeatures::template_restype, &TemplateFeatures::template_frame_rot,
          &TemplateFeatures::template_frame_t, &TemplateFeatures::template_mask_frame, &TemplateFeatures::template_cb,
          &TemplateFeatures::template_ca, &TemplateFeatures::template_mask_cb, &TemplateFeatures::template_mask})
      (*out.templates).*x = clean_template((*f.templates).*x);
  }
  return out;
}

void run_plainly(const char*, const std::function<void()>& run) { run(); }

}  // namespace

TrunkFeatures TrunkFeatures::from(const FeatureSource& features, const TrunkOptions& options) {
  TrunkFeatures f;
  f.input = InputConditioningFeatures::from(features);
  f.position = RelativePositionFeatures::from(features);
  f.token_bonds = features("token_bonds");
  f.token_pad_mask = features("token_pad_mask");
  f.conditioning = PairConditioningFeatures::from(features);
  f.msa = MsaFeatures::from(features);
  if (options.templates) f.templates = TemplateFeatures::from(features);
  return f;
}

TrunkImpl::TrunkImpl(const TrunkOptions& o)
    : options(o),
      input_embedder(register_module("input_embedder", InputConditioning(o.token_s, o.input))),
      s_init(register_module("s_init", plain_linear(o.token_s, o.token_s))),
      pair_init(o.token_s, o.rel_pos, PairInitialisationOptions{o.bond_types, o.contact}) {
  const int64_t token_z = o.rel_pos.token_z;
  register_module("z_init_1", pair_init->z_init_1);
  register_module("z_init_2", pair_init->z_init_2);
  register_module("rel_pos", pair_init->rel_pos);
  register_module("token_bonds", pair_init->token_bonds);
  if (o.bond_types) register_module("token_bonds_type", pair_init->token_bonds_type);
  if (o.contact) register_module("contact_conditioning", pair_init->contact_conditioning);
  s_norm = register_module("s_norm", layer_norm(o.token_s));
  z_norm = register_module("z_norm", layer_norm(token_z));
  s_recycle = register_module("s_recycle", zero_linear(o.token_s, o.token_s));
  z_recycle = register_module("z_recycle", zero_linear(token_z, token_z));
  if (o.templates) template_module = register_module("template_module", TemplateModule(token_z, *o.templates));
  MsaModuleOptions msa = o.msa;
  msa.token_s = o.token_s;
  msa.layer.token_z = token_z;
  msa_module = register_module("msa_module", MsaModule(msa));
  pairformer_module =
      register_module("pairformer_module", PairformerModule(o.token_s, token_z, o.pairformer_blocks, o.pairformer));
  distogram_module = register_module("distogram_module", DistogramModule(token_z, o.distogram_bins));
  bfactor_module = register_module("bfactor_module", BFactorModule(o.token_s, o.bfactor_bins));
}

TrunkOutput TrunkImpl::forward(const TrunkFeatures& given, const TrunkCall& call) {
  const auto around = call.around ? call.around : run_plainly;
  TrunkFeatures f;
  at::Tensor mask, s0, z0;
  TrunkOutput out;
  around("zero_padding", [&] {
    mask = pair_mask(given.token_pad_mask);
    f = zero_padding(given, mask);
  });
  around("input_embedder", [&] {
    out.s_inputs = input_embedder(f.input);
    s0 = s_init(out.s_inputs);
  });
  around("pair_init", [&] { z0 = pair_init(out.s_inputs, f.position, f.token_bonds, f.conditioning); });

  const bool wanted = c10::GradMode::is_enabled();
  at::Tensor s = at::zeros_like(s0), z = at::zeros_like(z0);
  for (int64_t pass = 0; pass <= call.recycling_steps; ++pass) {
    const c10::AutoGradMode gradients(wanted && pass == call.recycling_steps);
    const Dropout dropout = call.dropout.child("recycling_" + std::to_string(pass));
    around("recycling", [&] {
      s = s0 + s_recycle(s_norm(s));
      z = z0 + z_recycle(z_norm(z));
    });
    if (!template_module.is_empty())
      around("template_module",
             [&] { z = z + template_module(z, *f.templates, mask, dropout.child("template_module")); });
    around("msa_module",
           [&] { z = z + msa_module(z, out.s_inputs, f.msa, given.token_pad_mask, dropout.child("msa_module")); });
    around("pairformer_module", [&] {
      std::tie(s, z) = pairformer_module(s, z, f.token_pad_mask, mask, dropout.child("pairformer_module"));
    });
  }
  out.s = s;
  out.z = z;
  around("distogram_module", [&] { out.pdistogram = distogram_module(z); });
  around("bfactor_module", [&] { out.bfactor = bfactor_module(s); });
  return out;
}

}  // namespace cpize::serial
