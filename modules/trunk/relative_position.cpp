#include "trunk/relative_position.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "layout/redistribute.hpp"
#include "trunk/precision.hpp"

namespace cpize::trunk {
namespace {

enum Id { kAsym, kResidue, kEntity, kToken, kSym, kPeriod, kIds };

/// Class of an offset: clip(offset + max, 0, 2 max), and 2 max + 1 where the offset means nothing.
at::Tensor offset_class(const at::Tensor& offset, std::int64_t max, const at::Tensor& meaningful) {
  return at::where(meaningful, (offset + max).clamp_(0, 2 * max), at::full({}, 2 * max + 1, offset.options()));
}

/// Residue offset on a cyclic chain: the nearest way round. Division in fp64, so that it rounds to the right winding;
/// the published code takes 10000 as the period of an open chain.
at::Tensor unwind(const at::Tensor& offset, const at::Tensor& period_bits) {
  constexpr double kOpenChainPeriod = 10000;
  const at::Tensor given = period_bits.contiguous().view(at::kDouble);
  const at::Tensor period = at::where(given > 0, given, at::full({}, kOpenChainPeriod, given.options()));
  const at::Tensor distance = offset.to(at::kDouble);
  return (distance - period * at::round(distance / period)).to(at::kLong);
}

}  // namespace

RelativePositionIds RelativePositionIds::gather(const RelativePositionFeatures& f) {
  const at::Tensor period = f.cyclic_period.local().to(at::kDouble).view(at::kLong);
  const auto ids = f.asym_id.with(at::stack(
      {f.asym_id.local().to(at::kLong), f.residue_index.local().to(at::kLong), f.entity_id.local().to(at::kLong),
       f.token_index.local().to(at::kLong), f.sym_id.local().to(at::kLong), period},
      /*dim=*/-1));
  return {redistribute<SingleRow>(ids).local(), redistribute<SingleCol>(ids).local()};
}

RelativePositionIndices relative_position_indices(const at::Tensor& rows, const at::Tensor& columns,
                                                  const RelativePositionOptions& o) {
  const auto row = [&](Id id) { return rows.select(-1, id).unsqueeze(1); };
  const auto column = [&](Id id) { return columns.select(-1, id).unsqueeze(0); };
  const at::Tensor same_chain = row(kAsym) == column(kAsym);
  const at::Tensor residue_offset = row(kResidue) - column(kResidue);
  const at::Tensor same_entity = row(kEntity) == column(kEntity);
  const at::Tensor copies_comparable = o.fix_sym_check ? same_entity : same_chain.logical_not();
  const at::Tensor unwound = o.cyclic_pos_enc ? unwind(residue_offset, column(kPeriod)) : residue_offset;

  const std::int64_t classes = 2 * o.r_max + 2;
  const at::Tensor residue = offset_class(unwound, o.r_max, same_chain);
  const at::Tensor token =
      offset_class(row(kToken) - column(kToken), o.r_max, same_chain & (residue_offset == 0)).add_(classes);
  const at::Tensor entity =
      at::where(same_entity, at::full({}, 2 * classes, rows.options()), at::full({}, o.columns(), rows.options()));
  const at::Tensor copy = offset_class(row(kSym) - column(kSym), o.s_max, copies_comparable).add_(2 * classes + 1);
  return {residue.flatten(), token.flatten(), entity.flatten(), copy.flatten()};
}

RelativePositionEncoderImpl::RelativePositionEncoderImpl(const RelativePositionOptions& options)
    : options(options), linear_layer(register_module("linear_layer", Projection(options.columns(), options.token_z))) {}

PairLookUp RelativePositionEncoderImpl::look_up(const RelativePositionIds& ids) const {
  // A column of the weight a row, then a row of zeros for "another entity".
  return {at::constant_pad_nd(linear_layer->weight.t(), {0, 0, 0, 1}),
          [ids, options = options](const PairRows& p) {
            const auto index = relative_position_indices(ids.rows[p.sample].narrow(0, p.begin, p.count),
                                                         ids.columns[p.sample], options);
            return std::vector<at::Tensor>(index.begin(), index.end());
          },
          /*indices=*/4};
}

Sharded<Pair> RelativePositionEncoderImpl::forward(const RelativePositionFeatures& features) {
  const Shape tokens = features.asym_id.global();
  for (const auto* id : {&features.asym_id, &features.residue_index, &features.entity_id, &features.token_index,
                         &features.sym_id, &features.cyclic_period})
    if (id->global() != tokens || tokens.size() != 2)
      throw ContractError("relative position takes six features [B,N] of one B and N");
  const auto ids = RelativePositionIds::gather(features);
  PairTerms terms;
  terms.look_ups.push_back(look_up(ids));
  const at::Tensor& weight = linear_layer->weight;
  return wrap<Pair>(assemble_pairs(terms, ids.rows.size(0), ids.rows.size(1), ids.columns.size(1),
                                   weight.options().dtype(Precision::of(weight).operand)),
                    {tokens[0], tokens[1], tokens[1], options.token_z}, features.asym_id.mesh());
}

}  // namespace cpize::trunk
