// Which alignment belongs to which chain, and whether its query is the chain's sequence.
#include "features/chain_alignments.hpp"

#include <gtest/gtest.h>

#include "features/read_fasta.hpp"
#include "features/read_structure.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

const std::string kSequence = "MKVLAAGIVGLPNSTWKEEDHRYQFC";  // of the K cases

Structure fasta(const std::string& text) {
  const TemporaryFile file("x.fasta", text);
  return read_fasta(file.path());
}

Structure protein(const std::string& sequence) { return fasta(">A|protein\n" + sequence + "\n"); }

ChainAlignments read(const Structure& structure, const std::string& a3m, const std::string& chain = "A") {
  const TemporaryFile file("x.a3m", a3m);
  return read_alignments(structure, {.of_entity = {}, .of_chain = {{chain, file.path()}}});
}

std::string error_of(const Structure& structure, const AlignmentFiles& files) {
  return input_error([&] { read_alignments(structure, files); });
}

std::string query_error(const Structure& structure, const std::string& a3m, const std::string& chain = "A") {
  return input_error([&] { read(structure, a3m, chain); });
}

TEST(K06, AnotherQueryIsAnErrorWithPlaceAndLetters) {
  const std::string file = case_file("k06_other_query.a3m");
  const std::string message = error_of(protein(kSequence), {.of_entity = {}, .of_chain = {{"A", file}}});
  expect_parts(message, {"k06_other_query.a3m:1:", "chain 'A'", "position 7", "'W' in the query", "'G' (GLY)"});
}

TEST(K06, SelenocysteineIsAccepted) {
  const std::string file = case_file("k06_selenocysteine.a3m");
  const Structure s = protein(replaced(kSequence, "VGL", "VUL"));
  ASSERT_EQ(s.chains[0].residues[9].component, "SEC");
  EXPECT_EQ(read_alignments(s, {.of_entity = {}, .of_chain = {{"A", file}}}).of_chain[0]->rows.size(), 2U);
  expect_parts(error_of(protein(kSequence), {.of_entity = {}, .of_chain = {{"A", file}}}),
               {"position 10", "'U'", "'G'"});
  EXPECT_TRUE(read(s, ">q\n" + replaced(kSequence, "VGL", "VXL") + "\n").of_chain[0]);
  expect_parts(query_error(s, ">q\n" + kSequence + "\n"), {"position 10", "'G' in the query", "'U' (SEC)"});
}

TEST(K06, ModifiedResidueIsAcceptedAsItself) {
  Structure s = protein(kSequence);
  s.chains[0].residues[13].component = "SEP";  // position 14, a serine
  const std::string file = case_file("k06_modified.a3m");
  EXPECT_EQ(read_alignments(s, {.of_entity = {}, .of_chain = {{"A", file}}}).of_chain[0]->rows.size(), 2U);
  EXPECT_TRUE(read(s, ">q\n" + replaced(kSequence, "NST", "NXT") + "\n").of_chain[0]);
  expect_parts(query_error(s, ">q\n" + replaced(kSequence, "NST", "NTT") + "\n"), {"position 14", "'T'", "'S' (SEP)"});
}

TEST(ReadAlignments, QueryLengths) {
  expect_parts(query_error(protein("GACK"), ">q\nGAC\n"),
               {"x.a3m:1:", "position 4", "ends before 'K' (LYS)", "query 3", "chain 4"});
  expect_parts(query_error(protein("GAC"), ">q\nGACK\n"), {"position 4", "'K' behind the chain's end"});
}

TEST(ReadAlignments, UnknownAndAmbiguousResidues) {
  EXPECT_TRUE(read(protein("GXC"), ">q\nGXC\n").of_chain[0]);
  EXPECT_TRUE(read(protein("GBC"), ">q\nGBC\n").of_chain[0]);
  expect_parts(query_error(protein("GXC"), ">q\nGAC\n"), {"position 2", "'A' in the query", "'X' (UNK)"});
  expect_parts(query_error(protein("GMC"), ">q\nGXC\n"), {"position 2", "'X' in the query", "'M' (MET)"});
}

TEST(ReadAlignments, NucleicAcids) {
  Structure s = fasta(">R|rna\nGACU\n>D|dna\nGACT\n");
  EXPECT_TRUE(read(s, ">q\nGACU\n", "R").of_chain[0]);
  EXPECT_FALSE(read(s, ">q\nGACU\n", "R").of_chain[1]);  // nucleic acids may go without
  EXPECT_TRUE(read(s, ">q\nGACT\n", "D").of_chain[1]);
  s.chains[0].residues[3].component = "PSU";
  EXPECT_TRUE(read(s, ">q\nGACU\n", "R").of_chain[0]);
  EXPECT_TRUE(read(s, ">q\nGACN\n", "R").of_chain[0]);
  expect_parts(query_error(s, ">q\nGACG\n", "R"), {"position 4", "'U' (PSU)"});
}

TEST(ReadAlignments, SelenomethioninesOfARealStructure) {  // 1a8o: 4 MSE, in the sequence as M
  const Structure s = read_structure(case_file("1a8o_no_entities.cif"));
  std::string sequence;
  for (const auto& residue : s.chains[0].residues) {
    for (const char letter : std::string("ARNDCQEGHILKMFPSTWYV")) {
      const std::string component = residue.component == "MSE" ? "MET" : residue.component;
      if (component_of_letter(MolType::protein, letter)->component == component) sequence += letter;
    }
  }
  ASSERT_EQ(sequence.size(), 70U);
  EXPECT_TRUE(read(s, ">q\n" + sequence + "\n").of_chain[0]);
}

TEST(ReadAlignments, EntitiesCopiesAndChains) {
  const Structure s = fasta(">A|protein\nGACK\n>B|protein\nGACK\n>C|protein\nGGGG\n>L|ccd\nMG\n");
  const TemporaryFile first("a.a3m", ">q\nGACK\n>h\nGA-K\n"), second("b.csv", "key,sequence\n,GACK\n1,G--K\n2,GA-K\n");
  const auto shared = read_alignments(s, {.of_entity = {{"1", first.path()}, {"2", "empty"}}, .of_chain = {}});
  ASSERT_EQ(shared.of_chain.size(), 4U);
  EXPECT_EQ(shared.of_chain[0], shared.of_chain[1]);
  EXPECT_EQ(shared.of_chain[0]->rows.size(), 2U);
  EXPECT_FALSE(shared.of_chain[2]);
  EXPECT_FALSE(shared.of_chain[3]);
  const auto own =
      read_alignments(s, {.of_entity = {{"1", first.path()}, {"2", "empty"}}, .of_chain = {{"B", second.path()}}});
  EXPECT_EQ(own.of_chain[0]->rows.size(), 2U);
  EXPECT_EQ(own.of_chain[1]->rows.size(), 3U);
}

TEST(ReadAlignments, NothingIsGuessed) {
  const Structure s = fasta(">A|protein\nGACK\n>chain_B|protein\nGGGG\n>L|ccd\nMG\n");
  const TemporaryFile file("a.a3m", ">q\nGACK\n");
  expect_parts(error_of(s, {.of_entity = {}, .of_chain = {{"A", file.path()}}}),
               {"no alignment is named for chain 'chain_B'", "entity '2'", "'empty'"});
  expect_parts(error_of(s, {.of_entity = {}, .of_chain = {{"A", "empty"}, {"chain_b", file.path()}}}),
               {"chain 'chain_b'", "did you mean 'chain_B'"});
  expect_parts(error_of(s, {.of_entity = {{"7", "empty"}}, .of_chain = {}}), {"entity '7'", "1, 2, 3"});
  expect_parts(error_of(s, {.of_entity = {}, .of_chain = {{"A", "empty"}, {"chain_B", "empty"}, {"L", file.path()}}}),
               {"chain 'L'", "no polymer"});
  expect_parts(error_of(s, {.of_entity = {}, .of_chain = {{"A", "/none.a3m"}, {"chain_B", "empty"}}}),
               {"no such file"});
  EXPECT_EQ(single_sequences(s).of_chain.size(), 3U);
}

}  // namespace
}  // namespace cpize::features
