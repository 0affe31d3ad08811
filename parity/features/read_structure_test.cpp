// The five real structures: chains, order, molecule types, residues, as counted in the files with line tools.
#include "features/read_structure.hpp"

#include <gtest/gtest.h>

#include "test_files.hpp"

namespace cpize::features {
namespace {

struct ExpectedChain {
  std::string id, author, entity;
  int entity_index, sym_id;
  MolType type;
  size_t residues, resolved;
};

void expect_chains(const Structure& structure, const std::vector<ExpectedChain>& expected) {
  ASSERT_EQ(structure.chains.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Chain& chain = structure.chains[i];
    const ExpectedChain& e = expected[i];
    SCOPED_TRACE(e.id);
    EXPECT_EQ(chain.id, e.id);
    EXPECT_EQ(chain.author, e.author);
    EXPECT_EQ(chain.entity, e.entity);
    EXPECT_EQ(chain.entity_index, e.entity_index);
    EXPECT_EQ(chain.sym_id, e.sym_id);
    EXPECT_EQ(chain.type, e.type);
    EXPECT_EQ(chain.residues.size(), e.residues);
    size_t resolved = 0;
    for (const auto& residue : chain.residues) resolved += residue.resolved() ? 1 : 0;
    EXPECT_EQ(resolved, e.resolved);
    for (size_t r = 0; r < chain.residues.size(); ++r) EXPECT_EQ(chain.residues[r].position, static_cast<int>(r) + 1);
  }
}

constexpr auto P = MolType::protein;
constexpr auto D = MolType::dna;
constexpr auto L = MolType::nonpolymer;

TEST(ReadStructure, Lysozyme) {  // chain B is 78 waters
  const Structure s = read_structure(data_file("1aki.cif"));
  expect_chains(s, {{"A", "A", "1", 0, 0, P, 129, 129}});
  EXPECT_EQ(s.name, "1AKI");
  EXPECT_TRUE(s.warnings.empty()) << s.warnings.front();
  EXPECT_TRUE(s.links.empty());  // four disulfide bridges, which are no links
  size_t atoms = 0;
  for (const auto& residue : s.chains[0].residues) atoms += residue.atoms.size();
  EXPECT_EQ(atoms, 1001U);
  const Atom* ca = s.chains[0].residues[0].find_atom("CA");
  ASSERT_NE(ca, nullptr);
  EXPECT_EQ(ca->element, "C");
  EXPECT_EQ(s.chains[0].residues[0].component, "LYS");
  EXPECT_EQ(s.chains[0].residues[128].component, "LEU");
}

TEST(ReadStructure, TrpCageFirstOf38Models) {
  const Structure s = read_structure(data_file("1l2y.cif"));
  expect_chains(s, {{"A", "A", "1", 0, 0, P, 20, 20}});
  size_t atoms = 0;
  for (const auto& residue : s.chains[0].residues) atoms += residue.atoms.size();
  EXPECT_EQ(atoms, 11552U / 38U);
  ASSERT_EQ(s.warnings.size(), 1U);
  expect_parts(s.warnings[0], {"38 models", "the first (1)"});
}

TEST(ReadStructure, DnaDodecamer) {
  expect_chains(read_structure(data_file("1bna.cif")),
                {{"A", "A", "1", 0, 0, D, 12, 12}, {"B", "B", "1", 0, 1, D, 12, 12}});
}

TEST(ReadStructure, PolymeraseOnDnaWithLigands) {  // H to K are waters; residues 1 to 9 of the protein are unresolved
  const Structure s = read_structure(data_file("5ugo.cif"));
  expect_chains(s, {{"A", "T", "1", 0, 0, D, 16, 16},
                    {"B", "P", "2", 1, 0, D, 11, 11},
                    {"C", "D", "3", 2, 0, D, 5, 5},
                    {"D", "A", "4", 3, 0, P, 335, 326},
                    {"E", "A", "5", 4, 0, L, 1, 1},
                    {"F", "A", "6", 5, 0, L, 1, 1},
                    {"G", "A", "6", 5, 1, L, 1, 1}});
  EXPECT_EQ(s.chains[4].residues[0].component, "2PN");
  EXPECT_EQ(s.chains[5].residues[0].component, "CA");
  EXPECT_EQ(s.chains[5].residues[0].atoms.at(0).element, "CA");
  EXPECT_FALSE(s.chains[3].residues[8].resolved());
  EXPECT_EQ(s.chains[3].residues[9].author_number, "10");
  EXPECT_TRUE(s.links.empty());  // metal coordination is no link
}

TEST(ReadStructure, AntibodyWithGlycans) {
  const Structure s = read_structure(data_file("1igy.cif"));
  expect_chains(s, {{"A", "A", "1", 0, 0, P, 213, 213},
                    {"B", "B", "2", 1, 0, P, 434, 434},
                    {"C", "C", "1", 0, 1, P, 213, 213},
                    {"D", "D", "2", 1, 1, P, 434, 434},
                    {"E", "E", "3", 2, 0, L, 9, 9},
                    {"F", "F", "4", 3, 0, L, 9, 9}});
  EXPECT_EQ(s.links.size(), 18U);
  EXPECT_EQ(s.links[0].first.chain, 1);
  EXPECT_EQ(s.links[0].first.residue, 287);
  EXPECT_EQ(s.links[0].first.atom, "ND2");
  EXPECT_EQ(s.links[0].second.chain, 4);
  EXPECT_EQ(s.links[0].second.residue, 0);
  const std::vector<std::string> sugars = {"NAG", "NDG", "BMA", "MAN", "NAG", "GAL", "MAN", "NAG", "FUL"};
  for (size_t i = 0; i < sugars.size(); ++i) EXPECT_EQ(s.chains[4].residues[i].component, sugars[i]);
}

TEST(ReadStructure, LineEndsAndByteOrderMarkDoNotMatter) {
  const std::string plain = slurp(data_file("1bna.cif"));
  const Structure expected = read_structure(data_file("1bna.cif"));
  for (const std::string& text :
       {replaced(plain, "\n", "\r\n"), "\xEF\xBB\xBF" + plain, "\xEF\xBB\xBF" + replaced(plain, "\n", "\r\n")}) {
    const TemporaryFile file("1bna.cif", text);
    const Structure s = read_structure(file.path());
    ASSERT_EQ(s.chains.size(), expected.chains.size());
    for (size_t c = 0; c < s.chains.size(); ++c) {
      ASSERT_EQ(s.chains[c].residues.size(), expected.chains[c].residues.size());
      for (size_t r = 0; r < s.chains[c].residues.size(); ++r) {
        const Residue &a = s.chains[c].residues[r], &b = expected.chains[c].residues[r];
        EXPECT_EQ(a.component, b.component);
        ASSERT_EQ(a.atoms.size(), b.atoms.size());
        for (size_t k = 0; k < a.atoms.size(); ++k) {
          EXPECT_EQ(a.atoms[k].name, b.atoms[k].name);
          EXPECT_EQ(a.atoms[k].position, b.atoms[k].position);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cpize::features
