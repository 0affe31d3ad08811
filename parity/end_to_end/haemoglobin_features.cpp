#include "parity/end_to_end/haemoglobin_features.hpp"

#include <algorithm>

#include "features/msa_features.hpp"
#include "features/padding.hpp"
#include "features/read_fasta.hpp"

namespace cpize::parity {

features::Features haemoglobin_features(int depth, int batch, std::int64_t padding) {
  const auto structure = features::read_fasta(CPIZE_PARITY_DATA "/1a00_A.fasta");
  const auto tokens = features::tokenise(structure);
  const auto alignments = features::read_alignments(
      structure, {.of_entity = {}, .of_chain = {{"A", CPIZE_PARITY_DATA "/1a00_A_uniref90.a3m"}}});
  const features::Features chain = features::token_features(structure, tokens);
  std::vector<features::Features> samples;
  for (int b = 0; b < batch; ++b) {
    features::Features sample = chain;
    features::add_msa_features(sample, structure, tokens, alignments, {.rows = std::max(1, depth - b)});
    const std::int64_t size = features::check_features(sample), rows = features::msa_depth(sample);
    samples.push_back(features::pad_msa_to(features::pad_tokens_to(sample, size + padding), rows + padding));
  }
  return features::collate(samples);
}

}  // namespace cpize::parity
