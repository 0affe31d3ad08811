// Phase 2: one feature of the spec table on a mesh. Real inputs with several chains, ligands, modified residues, an
// alignment, constraints and padding are distributed and assembled again.   cpize-feature-parity <feature>
#include <ATen/ATen.h>

#include "error/error.hpp"
#include "features/contact_features.hpp"
#include "features/distribute.hpp"
#include "features/msa_features.hpp"
#include "features/padding.hpp"
#include "features/read_fasta.hpp"
#include "features/read_structure.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/feature_case.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

/// [B,S]: 1 for rows of a sample's own MSA. No feature: it tells which rows are padding.
const char* const kRowMask = "rows of the sample";

features::Features sample(const features::Structure& structure, const features::ChainAlignments& alignments,
                          const features::MsaLimits& limits = {},
                          const features::ContactConstraints& constraints = {}) {
  const auto tokens = features::tokenise(structure);
  auto result = features::token_features(structure, tokens);
  features::add_msa_features(result, structure, tokens, alignments, limits);
  features::add_contact_constraints(result, structure, tokens, constraints);
  return result;
}

/// Haemoglobin alpha with the first rows of its alignment.
features::Features haemoglobin() {
  const auto structure = features::read_fasta(CPIZE_PARITY_DATA "/1a00_A.fasta");
  return sample(structure,
                features::read_alignments(
                    structure, {.of_entity = {}, .of_chain = {{"A", CPIZE_PARITY_DATA "/1a00_A_uniref90.a3m"}}}),
                {.rows = 37});
}

/// A peptide that begins with selenomethionine, with two ligands, one of them with a known pocket.
features::Features peptide() {
  const auto structure = features::read_structure(CPIZE_PARITY_CASES "/5i55.cif");
  features::ContactConstraints known;
  known.pockets.push_back({.binder = structure.chains.at(1).id, .contacts = {{structure.chains[0].id, 5}}});
  known.contacts.push_back({{structure.chains[0].id, 3}, {structure.chains[0].id, 12}, 8});
  return sample(structure, features::single_sequences(structure), {}, known);
}

features::Features without_alignment(const std::string& file) {
  const auto structure = features::read_structure(std::string(CPIZE_PARITY_DATA "/") + file);
  return sample(structure, features::single_sequences(structure));
}

/// Haemoglobin, the peptide, DNA polymerase with DNA and ligands, B-DNA, in turn; the shorter ones are padded.
Tensors full_batch(std::int64_t batch) {
  std::vector<features::Features> samples;
  for (std::int64_t b = 0; b < batch; ++b)
    samples.push_back(b % 4 == 0   ? haemoglobin()
                      : b % 4 == 1 ? peptide()
                                   : without_alignment(b % 4 == 2 ? "5ugo.cif" : "1bna.cif"));
  Tensors full;
  for (const auto& [name, tensor] : features::collate(samples)) full.set(name, tensor);
  full.set(kRowMask, full["msa_mask"].amax(2));
  return full;
}

ShardedTensors distribute(const Tensors& full, const MeshPtr& mesh) {
  features::Features batch;
  for (const auto& [name, tensor] : full)
    if (name != kRowMask) batch[name] = tensor;
  ShardedTensors sharded;
  for (auto& [name, shard] : features::distribute(batch, mesh)) sharded.set(name, shard);
  return sharded;
}

std::int64_t index_limit(const features::FeatureSpec& spec) {
  const bool one_hot = spec.dimensions[spec.rank() - 1].axis == features::FeatureAxis::fixed;
  switch (spec.index_space) {
    case features::IndexSpace::molecule_types:
      return 4;
    case features::IndexSpace::methods:
      return 12;
    case features::IndexSpace::bond_types:
      return 7;
    case features::IndexSpace::residue_types:
      return one_hot ? 2 : 33;
    case features::IndexSpace::contact_classes:
      return 2;
    default:
      return 0;
  }
}

/// What the harness checks of a feature. Padding of an MSA is checked by tokens and by rows, one after the other.
std::vector<FeatureRow> rows_of(const features::FeatureSpec& spec) {
  FeatureRow row{.name = std::string(spec.name), .mask = std::string(spec.mask), .padding = spec.padding};
  for (std::size_t d = 0; d < spec.rank(); ++d)
    if (spec.dimensions[d].axis == features::FeatureAxis::tokens) row.mask_dims.push_back(static_cast<int>(d) + 1);
  row.own_index = spec.index_space == features::IndexSpace::tokens;
  row.index_limit = index_limit(spec);
  if (spec.mask != "msa_mask") return {row};
  row.mask = "token_pad_mask";
  FeatureRow by_rows = row;
  by_rows.mask = kRowMask;
  by_rows.mask_dims = {1};
  return {row, by_rows};
}

Measurement measure(const Request& request) {
  if (request.arguments.size() != 1)
    throw ConfigError("usage: " + request.program + " <feature> [--mesh 1x2x3] [--cell 1x2x2/mpi/fp64/cpu]");
  const std::string name = request.arguments[0];
  FeatureCase feature("feature." + name);
  feature.full(full_batch).distribute(distribute);
  for (const auto& row : rows_of(features::feature_spec(name))) feature.feature(row);
  return measure_features(feature, request);
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_ranked_program(argc, argv, cpize::parity::measure); }
