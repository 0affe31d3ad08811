// The feature-spec table: for every feature its axes, dtype, layout, index space, mask and padding. Code, docs and
// tests read it.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace cpize::features {

/// What a tensor dimension scales with. Two axes may happen to have equal sizes in one input; they are never the same
/// axis.
enum class FeatureAxis { none, tokens, atoms, msa_rows, fixed };

enum class FeatureType { float32, int64 };

/// What the values of an integer feature count; `none`: the values are no index.
enum class IndexSpace {
  none,
  tokens,
  residue_positions,
  chains,
  entities,
  symmetric_copies,
  molecule_types,
  residue_types,
  bond_types,
  contact_classes,
  methods
};

struct Dimension {
  FeatureAxis axis = FeatureAxis::none;
  int size = 0;  ///< of a fixed axis
};

inline constexpr size_t kMaxDimensions = 3;

/// One row. Shapes are per sample; collation puts the batch dimension in front, and `layout` names the layout of the
/// collated tensor.
struct FeatureSpec {
  std::string_view name;
  std::array<Dimension, kMaxDimensions> dimensions;
  FeatureType type;
  std::string_view layout;  ///< name of the layout type in modules/layout/layouts.hpp
  IndexSpace index_space;
  std::string_view mask;  ///< feature that marks the valid places along each axis it shares; "" for that mask itself
  double padding;         ///< value put at padded places; no result depends on it
  bool optional;          ///< may be absent
  std::string_view meaning;

  constexpr size_t rank() const {
    size_t count = 0;
    while (count < kMaxDimensions && dimensions[count].axis != FeatureAxis::none) ++count;
    return count;
  }
};

namespace spec_detail {
inline constexpr Dimension N{FeatureAxis::tokens, 0};
inline constexpr Dimension S{FeatureAxis::msa_rows, 0};
constexpr Dimension fixed(int size) { return {FeatureAxis::fixed, size}; }
}  // namespace spec_detail

/// All features, sorted by name. Names, shapes and dtypes are Boltz-2's.
inline constexpr std::array kFeatureSpecs = {
    FeatureSpec{"asym_id",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::chains,
                "token_pad_mask",
                0,
                false,
                "chain number, from 0 in the order of chains"},
    FeatureSpec{"contact_conditioning",
                {spec_detail::N, spec_detail::N, spec_detail::fixed(5)},
                FeatureType::int64,
                "Pair",
                IndexSpace::contact_classes,
                "token_pad_mask",
                0,
                false,
                "one-hot: unspecified, unselected, pocket > binder, binder > pocket, contact"},
    FeatureSpec{"contact_threshold",
                {spec_detail::N, spec_detail::N},
                FeatureType::float32,
                "Pair",
                IndexSpace::none,
                "token_pad_mask",
                0,
                false,
                "largest distance of a conditioned pair in angstrom; 0 elsewhere"},
    FeatureSpec{"cyclic_period",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::none,
                "token_pad_mask",
                0,
                false,
                "length of the cycle that the token's chain closes; 0: not cyclic"},
    FeatureSpec{"deletion_mean",
                {spec_detail::N},
                FeatureType::float32,
                "Single",
                IndexSpace::none,
                "token_pad_mask",
                0,
                false,
                "mean deletion count of the alignment; 0 without one"},
    FeatureSpec{"deletion_value",
                {spec_detail::S, spec_detail::N},
                FeatureType::float32,
                "Msa",
                IndexSpace::none,
                "msa_mask",
                0,
                true,
                "pi/2 atan(d/3), d letters deleted in front of the token"},
    FeatureSpec{"disto_center",
                {spec_detail::N, spec_detail::fixed(3)},
                FeatureType::float32,
                "Single",
                IndexSpace::none,
                "token_pad_mask",
                0,
                true,
                "position of the distogram atom in angstrom; 0 where token_disto_mask is 0"},
    FeatureSpec{"entity_id",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::entities,
                "token_pad_mask",
                0,
                false,
                "entity number, from 0 in order of first use"},
    FeatureSpec{"has_deletion",
                {spec_detail::S, spec_detail::N},
                FeatureType::float32,
                "Msa",
                IndexSpace::none,
                "msa_mask",
                0,
                true,
                "1 where letters are deleted in front of the token"},
    FeatureSpec{"method_feature",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::methods,
                "token_pad_mask",
                0,
                false,
                "experimental method, the same for all tokens"},
    FeatureSpec{"modified",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::none,
                "token_pad_mask",
                0,
                false,
                "1 for atoms of a modified residue in a polymer"},
    FeatureSpec{"mol_type",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::molecule_types,
                "token_pad_mask",
                0,
                false,
                "protein 0, DNA 1, RNA 2, non-polymer 3"},
    FeatureSpec{"msa",
                {spec_detail::S, spec_detail::N},
                FeatureType::int64,
                "Msa",
                IndexSpace::residue_types,
                "msa_mask",
                1,
                true,
                "residue type of the alignment row; 1 is a gap"},
    FeatureSpec{"msa_mask",
                {spec_detail::S, spec_detail::N},
                FeatureType::float32,
                "Msa",
                IndexSpace::none,
                "",
                0,
                true,
                "1: a place of the alignment, gaps included, 0: padding"},
    FeatureSpec{"msa_paired",
                {spec_detail::S, spec_detail::N},
                FeatureType::float32,
                "Msa",
                IndexSpace::none,
                "msa_mask",
                0,
                true,
                "1 where the row is paired across chains by taxonomy, and in the query row"},
    FeatureSpec{"profile",
                {spec_detail::N, spec_detail::fixed(33)},
                FeatureType::float32,
                "Single",
                IndexSpace::none,
                "token_pad_mask",
                0,
                false,
                "residue type frequencies of the alignment; without one, res_type itself"},
    FeatureSpec{"res_type",
                {spec_detail::N, spec_detail::fixed(33)},
                FeatureType::int64,
                "Single",
                IndexSpace::residue_types,
                "token_pad_mask",
                0,
                false,
                "one-hot residue type; atoms of ligands and modified residues are UNK"},
    FeatureSpec{"residue_index",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::residue_positions,
                "token_pad_mask",
                0,
                false,
                "place of the residue in its chain's sequence, from 0 (label_seq_id - 1)"},
    FeatureSpec{"sym_id",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::symmetric_copies,
                "token_pad_mask",
                0,
                false,
                "number of earlier chains of the same entity"},
    FeatureSpec{"token_bonds",
                {spec_detail::N, spec_detail::N, spec_detail::fixed(1)},
                FeatureType::float32,
                "Pair",
                IndexSpace::none,
                "token_pad_mask",
                0,
                false,
                "1 where a covalent bond joins two tokens (not a polymer's backbone)"},
    FeatureSpec{"token_disto_mask",
                {spec_detail::N},
                FeatureType::float32,
                "Single",
                IndexSpace::none,
                "token_pad_mask",
                0,
                true,
                "1 where the distogram atom has a position"},
    FeatureSpec{"token_index",
                {spec_detail::N},
                FeatureType::int64,
                "Single",
                IndexSpace::tokens,
                "token_pad_mask",
                0,
                false,
                "the token's own global number"},
    FeatureSpec{"token_pad_mask",
                {spec_detail::N},
                FeatureType::float32,
                "Single",
                IndexSpace::none,
                "",
                0,
                false,
                "1: a token, 0: padding"},
    FeatureSpec{"token_resolved_mask",
                {spec_detail::N},
                FeatureType::float32,
                "Single",
                IndexSpace::none,
                "token_pad_mask",
                0,
                false,
                "1 where the token's centre atom has a position"},
    FeatureSpec{"type_bonds",
                {spec_detail::N, spec_detail::N},
                FeatureType::int64,
                "Pair",
                IndexSpace::bond_types,
                "token_pad_mask",
                0,
                false,
                "0 where token_bonds is 0, else 1 + bond type"},
};

/// The row of a feature, or nullptr.
const FeatureSpec* find_feature_spec(std::string_view name);

/// The row of a feature. @throws ContractError naming the nearest feature.
const FeatureSpec& feature_spec(std::string_view name);

std::string_view name_of(FeatureAxis axis);
std::string_view name_of(FeatureType type);
std::string_view name_of(IndexSpace space);
/// "[N, N, 1]", with N tokens, A atoms, S alignment rows.
std::string shape_text(const FeatureSpec& spec);

/// The whole table as Markdown.
std::string feature_spec_table();

}  // namespace cpize::features
