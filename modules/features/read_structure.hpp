// Reads an mmCIF file into a Structure; strict, with every default said.
#pragma once
#include <string>

#include "features/structure.hpp"

namespace cpize::features {

/// Reads the one structure of an mmCIF file.
///
/// What is read, and the rules:
/// * The first model of several (the number left out is a warning). One data block with atoms; two are an error.
/// * Chains are label_asym ids, kept whole, in the order of `_struct_asym` (see structure.hpp). A polymer has one
/// residue for each
///   position of its entity's sequence; positions without atoms are unresolved residues. Author numbers play no part in
///   this: they are kept as text, with the insertion code apart.
/// * Waters are dropped. A chain of a non-polymer or branched entity has one residue for each component copy, in file
/// order.
/// * Alternate locations: of a residue, the alternate id with the highest mean occupancy, the first of equals; atoms
/// without an
///   alternate id always belong; an atom name that the chosen id lacks is taken from the others by the same rule. Of a
///   position with several components (microheterogeneity), the component with the highest mean occupancy, the first of
///   equals.
/// * Links: covalent connections of `_struct_conn` (covale*) inside the asymmetric unit. Disulfide bridges, hydrogen
/// bonds and
///   metal coordination are no links; links to waters are dropped, links to symmetry copies are dropped with a warning.
/// * The method is the first of `_exptl.method`; several, or one without a number of its own (methods.hpp), are a
///   warning.
/// * Absent optional columns and tables get defaults, each with one warning: occupancy 1, B factor 0, author number =
/// label
///   number, author chain = label chain, a null label chain = author chain or 'A', sequence = the residues present (at
///   their label numbers, or counted where there are none), entity = equal sequences, molecule type = that of most
///   residues. A chain that mixes polymer and ligands without entity tables gives each ligand a chain of its own, named
///   `<chain>.<component>.<author number>`.
///
/// @param components used to tell the molecule type of a polymer without `_entity_poly.type`.
/// @throws InputError naming file, line, field, value and remedy. No atoms is an error.
Structure read_structure(const std::string& path,
                         const ComponentDictionary& components = ComponentDictionary::standard());

}  // namespace cpize::features
