#include "trunk/recycling/trunk.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <string>
#include <tuple>

#include "map/scope.hpp"
#include "trunk/checkpointing/checkpoint.hpp"
#include "trunk/padding.hpp"

namespace cpize::trunk {
namespace {

/// Tokens are cut alike in both layouts.
TemplateFeatures zero_padding(const TemplateFeatures& t, const Sharded<Single>& tokens) {
  const auto clean = [&](const Sharded<TemplateSingle>& x) {
    at::Tensor valid = tokens.local().unsqueeze(1) != 0;
    while (valid.dim() < x.local().dim()) valid = valid.unsqueeze(-1);
    return x.with(at::where(valid, x.local(), at::zeros({}, x.local().options())));
  };
  return {zero_where(t.asym_id, tokens), clean(t.template_restype),    clean(t.template_frame_rot),
          clean(t.template_frame_t),     clean(t.template_mask_frame), clean(t.template_cb),
          clean(t.template_ca),          clean(t.template_mask_cb),    clean(t.template_mask)};
}

TrunkFeatures zero_padding(const TrunkFeatures& f, const Sharded<Pair>& pairs) {
  const auto token = [&](const Sharded<Single>& x) { return zero_where(x, f.token_pad_mask); };
  const auto pair = [&](const Sharded<Pair>& x) { return zero_where(x, pairs); };
  const auto optional = [](const auto& x, const auto& clean) { return x ? std::optional(clean(*x)) : std::nullopt; };
  const auto& [input, p, c] = std::tie(f.input, f.position, f.conditioning);
  return {{{token(input.input.res_type), token(input.input.profile), token(input.input.deletion_mean)},
           optional(input.method_feature, token),
           optional(input.modified, token),
           optional(input.cyclic_period, token),
           optional(input.mol_type, token)},
          {token(p.asym_id), token(p.residue_index), token(p.entity_id), token(p.token_index), token(p.sym_id),
           token(p.cyclic_period)},
          pair(f.token_bonds),
          f.token_pad_mask,
          {optional(c.type_bonds, pair),
           optional(c.contact,
                    [&](const ContactFeatures& x) {
                      return ContactFeatures{pair(x.contact_conditioning), pair(x.contact_threshold)};
                    })},
          f.msa,
          optional(f.templates, [&](const TemplateFeatures& t) { return zero_padding(t, f.token_pad_mask); })};
}

/// Layer normalisation in at least the precision that autocast gives it.
at::Tensor normalised(const at::Tensor& x, const Norm& norm) {
  const auto& [weight, bias] = std::tie(norm->weight, norm->bias);
  return at::layer_norm(x, {x.size(-1)}, weight, bias, kNormEpsilon);
}

}  // namespace

TrunkImpl::TrunkImpl(const TrunkOptions& o)
    : options(o),
      input_embedder(register_module("input_embedder", InputConditioning(o.token_s, o.input))),
      s_init(register_module("s_init", Projection(o.token_s, o.token_s))),
      pair_init(o.token_s, o.rel_pos, PairInitialisationOptions{o.bond_types, o.contact}) {
  const std::int64_t token_z = o.rel_pos.token_z;
  register_module("z_init_1", pair_init->z_init_1);
  register_module("z_init_2", pair_init->z_init_2);
  register_module("rel_pos", pair_init->rel_pos);
  register_module("token_bonds", pair_init->token_bonds);
  if (o.bond_types) register_module("token_bonds_type", pair_init->token_bonds_type);
  if (o.contact) register_module("contact_conditioning", pair_init->contact_conditioning);
  s_norm = register_module("s_norm", Norm(o.token_s));
  z_norm = register_module("z_norm", Norm(token_z));
  s_recycle = register_module("s_recycle", Projection(o.token_s, o.token_s));
  z_recycle = register_module("z_recycle", Projection(token_z, token_z));
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

/// s0 + s_recycle(s_norm(s)); without s, of the zeros that the first pass starts from.
Sharded<Single> TrunkImpl::recycled_single(const Sharded<Single>& s0, const Sharded<Single>* s) {
  const at::Tensor before = s ? s->local() : at::zeros_like(s0.local());
  return s0.with(s0.local() + at::linear(normalised(before, s_norm), s_recycle->weight));
}

/// The same of the pair. A normalised zero is the bias of the norm: one row, added to all pairs.
Sharded<Pair> TrunkImpl::recycled_pair(const Sharded<Pair>& z0, const Sharded<Pair>* z) {
  const auto recycled = [norm = z_norm, project = z_recycle](const Sharded<Pair>& z0, const Sharded<Pair>& z) {
    return z0.with(z0.local() + at::linear(normalised(z.local(), norm), project->weight));
  };
  if (z) {
    struct Parameters : torch::nn::Module {
    } parameters;
    parameters.register_module("z_norm", z_norm);
    parameters.register_module("z_recycle", z_recycle);
    return checkpoint(parameters, recycled, z0, *z);
  }
  const at::Tensor zero = at::zeros({1, 1, 1, z0.local().size(-1)}, z0.local().options());
  return z0.with(z0.local() + at::linear(normalised(zero, z_norm), z_recycle->weight));
}

TrunkOutput TrunkImpl::forward(const TrunkFeatures& given, const TrunkCall& call) {
  const auto scoped = [](const char* name, const auto& step) {
    const map::Scope scope(name);
    return step();
  };
  const auto mask = scoped("zero_padding", [&] { return pair_mask(given.token_pad_mask); });
  const auto f = scoped("zero_padding", [&] { return zero_padding(given, mask); });
  const auto s_inputs = scoped("input_embedder", [&] { return input_embedder(f.input); });
  const auto s0 = scoped("input_embedder", [&] { return s_inputs.with(at::linear(s_inputs.local(), s_init->weight)); });
  const auto z0 = scoped("pair_init", [&] { return pair_init(s_inputs, f.position, f.token_bonds, f.conditioning); });

  const bool wanted = c10::GradMode::is_enabled();
  std::optional<Sharded<Single>> last_s;
  std::optional<Sharded<Pair>> last_z;
  for (std::int64_t pass = 0; pass <= call.recycling_steps; ++pass) {
    const c10::AutoGradMode gradients(wanted && pass == call.recycling_steps);
    const Dropout dropout = call.dropout.child("recycling_" + std::to_string(pass));
    Sharded<Single> s = scoped("recycling", [&] { return recycled_single(s0, last_s ? &*last_s : nullptr); });
    Sharded<Pair> z = scoped("recycling", [&] { return recycled_pair(z0, last_z ? &*last_z : nullptr); });
    last_z.reset();
    if (!template_module.is_empty())
      z = scoped("template_module", [&] {
        return add_to(z, template_module(z, f.templates.value(), mask, dropout.child("template_module")));
      });
    z = scoped("msa_module", [&] {
      return add_to(z, msa_module(z, s_inputs, f.msa, f.token_pad_mask, dropout.child("msa_module")));
    });
    auto [next_s, next_z] = scoped("pairformer_module", [&] {
      return pairformer_module(s, z, f.token_pad_mask, mask, dropout.child("pairformer_module"));
    });
    last_s = std::move(next_s);
    last_z = std::move(next_z);
  }
  const auto pdistogram = scoped("distogram_module", [&] { return distogram_module(*last_z); });
  const auto bfactor = scoped("bfactor_module", [&] { return bfactor_module(*last_s); });
  return {s_inputs, *last_s, *last_z, pdistogram, bfactor};
}

}  // namespace cpize::trunk
