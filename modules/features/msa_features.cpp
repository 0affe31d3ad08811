#include "features/msa_features.hpp"

#include <cmath>
#include <numbers>

#include "error/error.hpp"

namespace cpize::features {

namespace {

/// Tensors [S,N] as plain memory: depths of 16,384 rows are filled in one pass.
struct MsaArrays {
  MsaArrays(std::int64_t rows, std::int64_t tokens)
      : msa(at::full({rows, tokens}, kGap, at::kLong)),
        paired(at::zeros({rows, tokens})),
        deletions(at::zeros({rows, tokens})) {}
  at::Tensor msa, paired, deletions;
};

/// One chain's tokens of one row.
void fill(MsaArrays& arrays, std::int64_t s, const AlignmentRow& row, const std::vector<std::int64_t>& tokens,
          const std::vector<Token>& all) {
  auto* msa = arrays.msa[s].data_ptr<std::int64_t>();
  auto* deletions = arrays.deletions[s].data_ptr<float>();
  std::vector<int> counts(row.residues.size(), 0);
  for (const auto& deletion : row.deletions) counts[static_cast<size_t>(deletion.column)] = deletion.count;
  for (const auto i : tokens) {
    const auto column = static_cast<size_t>(all[static_cast<size_t>(i)].residue);
    msa[i] = row.residues[column];
    deletions[i] = static_cast<float>(counts[column]);
  }
}

/// Mean over the rows of one-hot residue types, by counting: the one-hots of a deep MSA would be 33 times its size.
at::Tensor profile_of(const at::Tensor& msa) {
  const auto rows = msa.size(0);
  const auto tokens = msa.size(1);
  const at::Tensor counts = at::zeros({tokens, kResidueTypes});
  counts.scatter_add_(1, msa.t(), at::ones({1, 1}).expand({tokens, rows}));
  return counts / static_cast<double>(rows);
}

}  // namespace

void add_msa_features(Features& features, const Structure& structure, const TokenisedStructure& tokenised,
                      const ChainAlignments& alignments, const MsaLimits& limits) {
  const size_t chains = structure.chains.size();
  if (alignments.of_chain.size() != chains) {
    throw ContractError("alignments for " + std::to_string(alignments.of_chain.size()) + " chains; '" +
                        structure.source + "' has " + std::to_string(chains));
  }
  const auto rows = pair_rows(alignments, limits);
  const auto depth = static_cast<std::int64_t>(rows.size()), count = static_cast<std::int64_t>(tokenised.tokens.size());
  std::vector<std::vector<std::int64_t>> tokens(chains);
  for (std::int64_t i = 0; i < count; ++i)
    tokens[static_cast<size_t>(tokenised.tokens[static_cast<size_t>(i)].chain)].push_back(i);

  MsaArrays arrays(depth, count);
  for (std::int64_t s = 1; s < depth; ++s) {
    const MsaRow& row = rows[static_cast<size_t>(s)];
    auto* paired = arrays.paired[s].data_ptr<float>();
    for (size_t c = 0; c < chains; ++c) {
      if (row.row[c] == MsaRow::kNoRow) continue;
      fill(arrays, s, alignments.of_chain[c]->rows[static_cast<size_t>(row.row[c])], tokens[c], tokenised.tokens);
      for (const auto i : tokens[c]) paired[i] = row.paired[c];
    }
  }
  arrays.msa[0].copy_(features.at("res_type").argmax(1));
  arrays.paired[0].fill_(1);

  features["msa"] = arrays.msa;
  features["msa_paired"] = arrays.paired;
  features["has_deletion"] = arrays.deletions.gt(0).to(at::kFloat);
  features["deletion_value"] = (arrays.deletions / 3).atan() * (std::numbers::pi / 2);
  features["msa_mask"] = at::ones({depth, count});
  features["profile"] = profile_of(arrays.msa);
  features["deletion_mean"] = features["deletion_value"].mean(0);
}

}  // namespace cpize::features
