// Token features: the named tensors that the model reads, made from a tokenised structure.
#pragma once
#include <ATen/ATen.h>

#include <map>
#include <string>

#include "features/feature_spec.hpp"
#include "features/tokens.hpp"

namespace cpize::features {

/// Feature name -> tensor; sorted, so that every rank walks it in the same order.
using Features = std::map<std::string, at::Tensor>;

/// The token features of one sample, without a batch dimension (shapes and dtypes: feature_spec.hpp), on the CPU: all
/// that are needed, and `disto_center` with `token_disto_mask` if `with_coordinates`. There is no alignment: profile is
/// the one-hot of the sequence, until add_msa_features (msa_features.hpp). No contact is known: every pair is
/// unspecified, until add_contact_constraints (contact_features.hpp).
/// * `type_bonds` is 1 + BondType: as the component's definition says, `covalent` for links between residues.
/// * `method_feature` is that of Structure::method; X-ray diffraction if it says nothing.
/// * `modified` marks the atoms of a polymer's residues that have no residue type.
/// * `cyclic_period` is Chain::cyclic_period, which no reader sets: close_chain (structure.hpp) does.
/// @throws InputError if there are no tokens.
Features token_features(const Structure& structure, const TokenisedStructure& tokenised, bool with_coordinates = false);

/// Checks a feature dictionary against the spec table: unknown names, absent features, dtypes, ranks, sizes of fixed
/// dimensions, one common number of tokens and of MSA rows, masks of 0 and 1 only, MSA features all there or none.
/// `batched`: every tensor has a batch dimension in front.
/// @returns the number of tokens. @throws ContractError naming the feature, what it has and what is expected.
int64_t check_features(const Features& features, bool batched = false);

/// Rows of the MSA: the size of `msa`; 0 without one.
int64_t msa_depth(const Features& features, bool batched = false);

at::ScalarType torch_dtype(FeatureType type);

}  // namespace cpize::features
