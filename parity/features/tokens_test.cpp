// Tokens and token bonds of the real structures, with counts taken from the files by line tools, and the rules of
// atomised residues.
#include "features/tokens.hpp"

#include <gtest/gtest.h>

#include <set>

#include "features/read_fasta.hpp"
#include "features/read_structure.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

struct Expected {
  const char* file;
  size_t tokens, resolved, whole, atoms, bonds;
};

class TokenCounts : public testing::TestWithParam<Expected> {};

TEST_P(TokenCounts, AsCountedInTheFile) {
  const Expected& e = GetParam();
  const Structure s = read_structure(data_file(e.file));
  const TokenisedStructure t = tokenise(s);
  size_t resolved = 0, whole = 0;
  std::pair<int, int> last{-1, -1};
  for (const auto& token : t.tokens) {
    resolved += token.centre ? 1U : 0U;
    whole += token.atom.empty() ? 1U : 0U;
    EXPECT_LE(last, std::pair(token.chain, token.residue));
    last = {token.chain, token.residue};
  }
  EXPECT_EQ(t.tokens.size(), e.tokens);
  EXPECT_EQ(resolved, e.resolved);
  EXPECT_EQ(whole, e.whole);
  EXPECT_EQ(t.tokens.size() - whole, e.atoms);
  EXPECT_EQ(t.bonds.size(), e.bonds);
  EXPECT_TRUE(t.warnings.empty());
}

INSTANTIATE_TEST_SUITE_P(RealStructures, TokenCounts,
                         testing::Values(
                             // 129 residues; 78 waters dropped; disulfide bridges are no token bonds
                             Expected{"1aki.cif", 129, 129, 129, 0, 0}, Expected{"1l2y.cif", 20, 20, 20, 0, 0},
                             // two strands of 12
                             Expected{"1bna.cif", 24, 24, 24, 0, 0},
                             // 16 + 11 + 5 nucleotides, 335 residues of which 9 are unresolved, imidodiphosphoric acid
                             // (9 atoms, 8 bonds), 2 calcium
                             Expected{"5ugo.cif", 378, 369, 367, 11, 8},
                             // 2 x (213 + 434) residues; two glycans of 110 heavy atoms, each with 110 bonds in sugars
                             // (every sugar has one ring), 8 between sugars, 1 to an asparagine
                             Expected{"1igy.cif", 1514, 1514, 1294, 220, 238}),
                         [](const auto& info) { return "f" + std::string(info.param.file).substr(0, 4); });

TEST(Tokens, GlycanBondsJoinTheRightAtoms) {
  const Structure s = read_structure(data_file("1igy.cif"));
  const TokenisedStructure t = tokenise(s);
  const auto token = [&](int chain, int residue, const std::string& atom) {
    for (size_t i = 0; i < t.tokens.size(); ++i) {
      const Token& x = t.tokens[i];
      if (x.chain == chain && x.residue == residue && x.atom == atom) return static_cast<int>(i);
    }
    return -1;
  };
  const auto bonded = [&](int a, int b) {
    return a >= 0 && b >= 0 &&
           std::count(t.bonds.begin(), t.bonds.end(), std::pair(std::min(a, b), std::max(a, b))) == 1;
  };
  EXPECT_TRUE(bonded(token(1, 287, ""), token(4, 0, "C1")));  // ASN - NAG
  EXPECT_TRUE(bonded(token(4, 0, "O4"), token(4, 1, "C1")));  // O4 is kept as the bridge
  EXPECT_TRUE(bonded(token(4, 0, "O6"), token(4, 8, "C1")));  // fucose
  EXPECT_TRUE(bonded(token(4, 0, "C1"), token(4, 0, "O5")));  // ring
  EXPECT_FALSE(bonded(token(4, 0, "C1"), token(4, 1, "C1")));
  for (int r = 0; r < 9; ++r) EXPECT_EQ(token(4, r, "O1"), -1) << "the leaving atom of sugar " << r;
  EXPECT_FALSE(bonded(token(1, 286, ""), token(1, 287, "")));  // backbone
}

TEST(Tokens, LigandAtomsAreUnknownResiduesInComponentOrder) {
  const TokenisedStructure t = tokenise(read_structure(data_file("5ugo.cif")));
  std::set<std::string> atoms;
  for (const auto& token : t.tokens) {
    if (token.atom.empty()) continue;
    EXPECT_EQ(token.res_type, kUnknownProtein);
    EXPECT_EQ(token.mol_type, MolType::nonpolymer);
    atoms.insert(token.atom);
  }
  EXPECT_EQ(atoms.size(), 10U);  // nine of 2PN, CA
  EXPECT_EQ(t.tokens.back().atom, "CA");
}

TEST(Tokens, UnresolvedLigandOfFastaHasAllHeavyAtoms) {
  const TemporaryFile file("x.fasta", ">A|protein\nGAU\n>B|ccd\nNAG\n>C|ccd\nMG\n");
  const TokenisedStructure t = tokenise(read_fasta(file.path()));
  // G, A, selenocysteine without its leaving OXT (6 atoms), free NAG with its O1 (15 atoms), magnesium
  EXPECT_EQ(t.tokens.size(), 2U + 6U + 15U + 1U);
  EXPECT_EQ(t.bonds.size(), 5U + 15U);
  for (const auto& token : t.tokens) EXPECT_FALSE(token.centre.has_value());
}

std::string ligand_file(const std::string& component, const std::string& atoms) {
  return "data_x\nloop_\n_entity.id\n_entity.type\n1 "
         "non-polymer\n#\nloop_\n_atom_site.type_symbol\n_atom_site.label_atom_id\n"
         "_atom_site.label_comp_id\n_atom_site.label_asym_id\n_atom_site.label_entity_id\n_atom_site.label_seq_id\n"
         "_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n" +
         replaced(atoms, "@", component + " B 1 . 0 0 0");
}

TEST(Tokens, UnknownComponentIsAnErrorUnlessAskedFor) {
  const TemporaryFile file("x.cif", ligand_file("ZQ9", "C C1 @\nO O1 @\n"));
  const Structure s = read_structure(file.path());
  expect_parts(input_error([&] { tokenise(s); }),
               {file.path(), "ZQ9", "chain B", "bonds are unknown", "CPIZE_COMPONENTS"});
  const auto t = tokenise(s, ComponentDictionary::standard(), UnknownComponent::resolved_atoms_without_bonds);
  EXPECT_EQ(t.tokens.size(), 2U);
  EXPECT_TRUE(t.bonds.empty());
  EXPECT_TRUE(any_contains(t.warnings, "ZQ9"));
}

TEST(Tokens, SingleAtomsNeedNoDefinition) {
  const TemporaryFile file("x.cif", ligand_file("ZQ9", "XE XE @\n"));
  EXPECT_EQ(tokenise(read_structure(file.path())).tokens.size(), 1U);
}

TEST(Tokens, TheFilesOwnDefinitionIsUsed) {
  const std::string definition =
      "#\nloop_\n_chem_comp_atom.comp_id\n_chem_comp_atom.atom_id\n_chem_comp_atom.type_symbol\nZQ9 C1 C\nZQ9 O1 "
      "O\nZQ9 N1 N\nZQ9 H1 H\n"
      "#\nloop_\n_chem_comp_bond.comp_id\n_chem_comp_bond.atom_id_1\n_chem_comp_bond.atom_id_2\nZQ9 C1 O1\nZQ9 N1 "
      "C1\nZQ9 N1 H1\n";
  const TemporaryFile file("x.cif", ligand_file("ZQ9", "C C1 @\nO O1 @\n") + definition);
  const auto t = tokenise(read_structure(file.path()));
  ASSERT_EQ(t.tokens.size(), 3U);  // N1 is unresolved, H1 is a hydrogen
  EXPECT_FALSE(t.tokens[2].centre.has_value());
  EXPECT_EQ(t.bonds, (std::vector<std::pair<int, int>>{{0, 1}, {0, 2}}));
  const TemporaryFile wrong("x.cif", ligand_file("ZQ9", "C C1 @\nO O1A @\n") + definition);
  expect_parts(input_error([&] { tokenise(read_structure(wrong.path())); }),
               {"ZQ9", "no atom 'O1A'", "did you mean 'O1'"});
  const TemporaryFile bad_bond("x.cif",
                               ligand_file("ZQ9", "C C1 @\n") + replaced(definition, "ZQ9 C1 O1", "ZQ9 C1 O2"));
  expect_parts(input_error([&] { read_structure(bad_bond.path()); }),
               {"_chem_comp_bond.atom_id_2", "O2", "did you mean 'O1'"});
}

TEST(Tokens, BondTableAloneJoinsTheAtomsPresent) {
  const std::string bonds =
      "#\nloop_\n_chem_comp_bond.comp_id\n_chem_comp_bond.atom_id_1\n_chem_comp_bond.atom_id_2\nZQ9 C1 O1\nZQ9 N1 C1\n";
  const TemporaryFile file("x.cif", ligand_file("ZQ9", "C C1 @\nO O1 @\n") + bonds);
  const auto t = tokenise(read_structure(file.path()));
  EXPECT_EQ(t.tokens.size(), 2U);
  EXPECT_EQ(t.bonds, (std::vector<std::pair<int, int>>{{0, 1}}));
}

}  // namespace
}  // namespace cpize::features
