// K16: author numbers with insertion codes, zero, negatives and gaps. K17: files of other tools, without optional
// tables.
#include <gtest/gtest.h>

#include <sstream>

#include "features/read_structure.hpp"
#include "features/tokens.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

size_t resolved_residues(const Chain& chain) {
  size_t count = 0;
  for (const auto& residue : chain.residues) count += residue.resolved() ? 1 : 0;
  return count;
}

TEST(K16, SyntheticNumbering) {
  const Structure s = read_structure(case_file("k16_numbering.cif"));
  ASSERT_EQ(s.chains.size(), 1U);
  const auto& residues = s.chains[0].residues;
  ASSERT_EQ(residues.size(), 7U);
  EXPECT_EQ(resolved_residues(s.chains[0]), 6U);
  const std::vector<std::string> components = {"GLY", "ALA", "ALA", "VAL", "GLY", "TRP", "ALA"};
  const std::vector<std::string> numbers = {"-1", "0", "1", "1", "1", "", "5"},
                                 insertions = {"", "", "", "A", "B", "", ""};
  for (size_t i = 0; i < 7; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(residues[i].position, static_cast<int>(i) + 1);
    EXPECT_EQ(residues[i].component, components[i]);
    EXPECT_EQ(residues[i].author_number, numbers[i]);
    EXPECT_EQ(residues[i].insertion_code, insertions[i]);
    EXPECT_EQ(residues[i].resolved(), i != 5);
  }
  const std::vector<std::pair<std::string, int>> references = {{"A:-1", 1}, {"A:0", 2},  {"A:1", 3},
                                                               {"A:1A", 4}, {"A:1B", 5}, {"A:5", 7}};
  for (const auto& [reference, position] : references) {
    const Residue* found = find_author_residue(s, reference);
    ASSERT_NE(found, nullptr) << reference;
    EXPECT_EQ(found->position, position) << reference;
  }
  for (const char* absent : {"A:2", "A:6", "A:1C", "B:1", "A:", "A"})
    EXPECT_EQ(find_author_residue(s, absent), nullptr) << absent;
  EXPECT_TRUE(tokenise(s).bonds.empty());
}

TEST(K16, Real4zhlHas19InsertionCodes) {
  const Structure s = read_structure(case_file("4zhl.cif"));
  ASSERT_EQ(s.chains.size(), 2U);
  EXPECT_EQ(s.chains[0].residues.size(), 247U);
  EXPECT_EQ(s.chains[1].residues.size(), 10U);
  size_t insertions = 0;
  for (size_t r = 0; r < 247; ++r) {
    EXPECT_EQ(s.chains[0].residues[r].position, static_cast<int>(r) + 1);
    insertions += s.chains[0].residues[r].insertion_code.empty() ? 0U : 1U;
  }
  EXPECT_EQ(insertions, 19U);
  EXPECT_EQ(s.chains[0].author, "U");
  EXPECT_EQ(s.chains[1].author, "P");
  EXPECT_EQ(s.chains[0].residues[0].author_number, "16");
}

TEST(K16, Real1o1zNegativeNumbersUnresolvedAndAlternates) {
  const Structure s = read_structure(case_file("1o1z.cif"));
  ASSERT_EQ(s.chains.size(), 2U);
  const auto& residues = s.chains[0].residues;
  ASSERT_EQ(residues.size(), 234U);
  EXPECT_EQ(resolved_residues(s.chains[0]), 226U);
  for (size_t i = 0; i < 8; ++i) EXPECT_FALSE(residues[i].resolved());
  const std::vector<std::string> numbers = {"-3", "-2", "-1", "0", "1"};
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(residues[8 + i].author_number, numbers[i]);
  // position 24: LYS, 2 atoms with alternates of 0.65 and 0.35; position 171: ARG, 7 atoms with 0.50 each
  struct Alternates {
    int position;
    size_t atoms;
    double occupancy;
  };
  for (const auto& expected : {Alternates{24, 2, 0.65}, Alternates{171, 7, 0.50}}) {
    size_t alternates = 0;
    for (const auto& atom : residues[static_cast<size_t>(expected.position - 1)].atoms) {
      EXPECT_TRUE(atom.alt_id.empty() || atom.alt_id == "A") << expected.position << " " << atom.name;
      if (atom.alt_id.empty()) continue;
      ++alternates;
      EXPECT_DOUBLE_EQ(atom.occupancy, expected.occupancy);
    }
    EXPECT_EQ(alternates, expected.atoms);
  }
  EXPECT_EQ(s.chains[1].residues[0].component, "NA");
  EXPECT_EQ(s.chains[1].residues[0].atoms.at(0).element, "NA");
}

TEST(K17, NoOccupancyNoBFactor) {
  const Structure s = read_structure(case_file("k17_no_occupancy_no_bfactor.cif"));
  ASSERT_EQ(s.chains.size(), 1U);
  ASSERT_EQ(s.chains[0].residues.size(), 2U);
  size_t atoms = 0;
  for (const auto& residue : s.chains[0].residues) {
    for (const auto& atom : residue.atoms) {
      ++atoms;
      EXPECT_EQ(atom.occupancy, 1);
      EXPECT_EQ(atom.b_factor, 0);
    }
  }
  EXPECT_EQ(atoms, 9U);
  EXPECT_TRUE(any_contains(s.warnings, "no _atom_site.occupancy: 1 is used (all 9 atoms)"));
  EXPECT_TRUE(any_contains(s.warnings, "no _atom_site.B_iso_or_equiv: 0 is used (all 9 atoms)"));
}

TEST(K17, NoAuthorNumbers) {
  const Structure s = read_structure(case_file("k17_no_auth_seq_id.cif"));
  ASSERT_EQ(s.chains.at(0).residues.size(), 2U);
  EXPECT_EQ(s.chains[0].residues[0].author_number, "1");
  EXPECT_EQ(s.chains[0].residues[1].author_number, "2");
  EXPECT_TRUE(any_contains(s.warnings, "no _atom_site.auth_seq_id: label_seq_id is used"));
}

TEST(K17, NoEntityTables) {
  const Structure s = read_structure(case_file("k17_no_entity_tables.cif"));
  ASSERT_EQ(s.chains.size(), 1U);
  EXPECT_EQ(s.chains[0].type, MolType::protein);
  EXPECT_EQ(s.chains[0].id, "A");
  ASSERT_EQ(s.chains[0].residues.size(), 2U);
  EXPECT_EQ(s.chains[0].residues[0].component, "ALA");
  EXPECT_EQ(s.chains[0].residues[1].component, "GLY");
  for (const char* table :
       {"no _entity table", "no _entity_poly table", "no _entity_poly_seq table", "no _struct_asym table"}) {
    size_t said = 0;
    for (const auto& warning : s.warnings) said += warning.starts_with(table) ? 1U : 0U;
    EXPECT_EQ(said, 1U) << table;
  }
}

TEST(K17, NoAtomsIsAnError) {
  const std::string message = input_error([] { read_structure(case_file("k17_no_atoms.cif")); });
  expect_parts(message, {"k17_no_atoms.cif", "_atom_site", "no atoms"});
}

TEST(K17, Real1a8oWithoutEntities) {  // 70 residues with 4 selenomethionines, 88 waters
  const Structure s = read_structure(case_file("1a8o_no_entities.cif"));
  ASSERT_EQ(s.chains.size(), 1U);
  EXPECT_EQ(s.chains[0].residues.size(), 70U);
  EXPECT_EQ(s.chains[0].type, MolType::protein);
  EXPECT_EQ(s.chains[0].residues[0].author_number, "151");
  const auto t = tokenise(s);
  EXPECT_EQ(t.tokens.size(), 66U + 4U * 8U);
  EXPECT_EQ(t.bonds.size(), 4U * 7U);
}

TEST(K17, Real1nkwWithoutOccupancyAndChainNames) {  // 118 nucleotides, positions 4 to 121, the chain id is '.'
  const Structure s = read_structure(case_file("1nkw_no_occupancy.cif"));
  ASSERT_EQ(s.chains.size(), 1U);
  EXPECT_EQ(s.chains[0].type, MolType::rna);
  EXPECT_EQ(s.chains[0].id, "A");
  ASSERT_EQ(s.chains[0].residues.size(), 118U);
  EXPECT_EQ(s.chains[0].residues.front().position, 4);
  EXPECT_EQ(s.chains[0].residues.back().position, 121);
  EXPECT_EQ(s.chains[0].residues.front().component, "C");
  EXPECT_TRUE(any_contains(s.warnings, "no _atom_site.occupancy"));
  EXPECT_TRUE(any_contains(s.warnings, "no _atom_site.label_asym_id"));
  EXPECT_EQ(tokenise(s).tokens.size(), 118U);
}

TEST(K17, Real5i55WithoutAssemblyTable) {
  std::istringstream lines(slurp(case_file("5i55.cif")));
  std::string text, line;
  int removed = 0;
  while (std::getline(lines, line)) {
    if (line.starts_with("_pdbx_struct_assembly.")) {
      ++removed;
    } else {
      text += line + "\n";
    }
  }
  ASSERT_GT(removed, 0);
  const TemporaryFile file("5i55.cif", text);
  const Structure s = read_structure(file.path());
  ASSERT_EQ(s.chains.size(), 3U);
  EXPECT_EQ(s.chains[0].residues.size(), 22U);
  EXPECT_EQ(s.chains[1].residues.at(0).component, "MPD");
  EXPECT_EQ(s.chains[2].residues.at(0).component, "ACT");
  const auto t = tokenise(s);
  EXPECT_EQ(t.tokens.size(), 21U + 8U + 8U + 4U);  // MSE, MPD and ACT by heavy atoms
  EXPECT_EQ(t.bonds.size(), 7U + 7U + 3U + 1U);    // and the link MSE 1 C - GLU 2 N
  EXPECT_EQ(s.links.size(), 1U);
}

TEST(K19, SameLigandNumberInThreeChainsStaysApart) {
  const Structure s = read_structure(case_file("glycans_res_ids.cif"));
  std::vector<std::string> ids;
  for (const auto& chain : s.chains) ids.push_back(chain.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"A", "G", "H", "I", "J", "K", "L", "M", "N", "O"}));
  for (size_t c = 7; c < 10; ++c) {
    ASSERT_EQ(s.chains[c].residues.size(), 1U);
    EXPECT_EQ(s.chains[c].residues[0].component, "NAG");
    EXPECT_EQ(s.chains[c].residues[0].author_number, "406");
    EXPECT_EQ(s.chains[c].residues[0].atoms.size(), 14U);
  }
  EXPECT_EQ(s.chains[2].residues.size(), 3U);
}

}  // namespace
}  // namespace cpize::features
