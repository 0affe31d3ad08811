// FASTA: what is read, and each fault with line and column.
#include "features/read_fasta.hpp"

#include <gtest/gtest.h>

#include "features/tokens.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

Structure fasta(const std::string& text) {
  const TemporaryFile file("x.fasta", text);
  return read_fasta(file.path());
}

std::string fasta_error(const std::string& text) {
  const TemporaryFile file("x.fasta", text);
  return input_error([&] { read_fasta(file.path()); });
}

std::string sequence(const Chain& chain) {
  std::string text;
  for (const auto& residue : chain.residues) text += residue.component + " ";
  return text;
}

TEST(ReadFasta, ChainsInFileOrderWithEntitiesAndCopies) {
  const Structure s = fasta(">B|protein\nGACX\n>A|rna\nGACU\n>C|protein|empty\nGACX\n>D|dna|\nGACTN\n");
  ASSERT_EQ(s.chains.size(), 4U);
  EXPECT_EQ(s.chains[0].id, "B");
  EXPECT_EQ(s.chains[1].id, "A");
  EXPECT_EQ(sequence(s.chains[0]), "GLY ALA CYS UNK ");
  EXPECT_EQ(sequence(s.chains[1]), "G A C U ");  // the alphabet is the chain type's
  EXPECT_EQ(sequence(s.chains[3]), "DG DA DC DT DN ");
  EXPECT_EQ(s.chains[0].entity, s.chains[2].entity);
  EXPECT_NE(s.chains[0].entity, s.chains[1].entity);
  EXPECT_EQ(s.chains[0].sym_id, 0);
  EXPECT_EQ(s.chains[2].sym_id, 1);
  EXPECT_EQ(s.chains[3].entity_index, 2);
  EXPECT_TRUE(s.warnings.empty());
  EXPECT_FALSE(s.chains[0].residues[0].resolved());
}

TEST(ReadFasta, LongIdsStayWhole) {  // K01
  const Structure s = read_fasta(case_file("k01_long_ids.fasta"));
  ASSERT_EQ(s.chains.size(), 3U);
  EXPECT_EQ(s.chains[0].id, "heavychain_1");
  EXPECT_EQ(s.chains[1].id, "heavychain_2");
  EXPECT_EQ(s.chains[2].id, "heavy");
  EXPECT_EQ(s.chains[0].residues.size(), 26U);
  EXPECT_EQ(s.chains[1].residues.size(), 23U);
  EXPECT_EQ(s.chains[2].type, MolType::nonpolymer);
  EXPECT_EQ(tokenise(s).tokens.size(), 26U + 23U + 1U);
  expect_parts(fasta_error(">" + std::string(65, 'x') + "|protein\nGA\n"), {":1", "65 characters", "at most 64"});
  EXPECT_EQ(fasta(">" + std::string(64, 'x') + "|protein\nGA\n").chains[0].id.size(), 64U);
}

TEST(ReadFasta, WrappedLinesCrlfBomAndCaseReadTheSame) {
  for (const std::string text :
       {">A|protein\nGACK\n", ">A|protein\nGA\nCK", ">A|protein\r\nGA\r\nCK\r\n", "\xEF\xBB\xBF>A|protein\n\nGACK\n\n",
        ">A|PROTEIN\ngack\n", ">A | protein\nGACK  \n"}) {
    const Structure s = fasta(text);
    ASSERT_EQ(s.chains.size(), 1U);
    EXPECT_EQ(s.chains[0].id, "A");
    EXPECT_EQ(sequence(s.chains[0]), "GLY ALA CYS LYS ");
  }
}

TEST(ReadFasta, UnknownLettersNameLineAndColumn) {
  expect_parts(fasta_error(">A|protein\nGAC\nGA1C\n"), {":3:3:", "chain 'A'", "'1'", "protein"});
  expect_parts(fasta_error(">A|protein\nGA C\n"), {":2:3:", "' '"});
  expect_parts(fasta_error(">A|protein\nGA-C\n"), {":2:3:", "gap"});
  expect_parts(fasta_error(">A|protein\nGAC*\n"), {":2:4:", "end of translation"});
  expect_parts(fasta_error(">A|dna\nGAX\n"), {":2:3:", "'X'", "dna", "ACGTN"});
}

TEST(ReadFasta, TInRnaAndUInDna) {  // K07
  expect_parts(fasta_error(">R|rna\nGACG\nGAT\n"), {":3:3:", "chain 'R'", "'T' in RNA", "write U"});
  expect_parts(fasta_error(">R|rna\ngact\n"), {":2:4:", "'T' in RNA"});
  expect_parts(fasta_error(">R|dna\nGAU\n"), {":2:3:", "'U' in DNA", "write T"});
  EXPECT_EQ(sequence(fasta(">R|rna\ngacu\n").chains[0]), "G A C U ");
}

TEST(ReadFasta, SameLettersShareNoTokenIdBetweenProteinAndRna) {  // K07
  const auto t = tokenise(fasta(">P|protein\nGACG\n>R|rna\nGACG\n"));
  ASSERT_EQ(t.tokens.size(), 8U);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 4; j < 8; ++j) EXPECT_NE(t.tokens[i].res_type, t.tokens[j].res_type);
  }
}

TEST(ReadFasta, RareAndAmbiguousLetters) {
  const Structure s = fasta(">A|protein\nUOBZJX\n");
  EXPECT_EQ(sequence(s.chains[0]), "SEC PYL UNK UNK UNK UNK ");
  ASSERT_EQ(s.warnings.size(), 1U);
  expect_parts(s.warnings[0], {"B, Z and J"});
}

TEST(ReadFasta, Headers) {
  expect_parts(fasta_error(">A|protien\nGA\n"), {":1", "'protien'", "did you mean 'protein'"});
  expect_parts(fasta_error(">A\nGA\n"), {":1", "'>A'", ">id|type"});
  expect_parts(fasta_error(">|protein\nGA\n"), {":1", "chain id is empty"});
  expect_parts(fasta_error(">A B|protein\nGA\n"), {":1:3", "blank"});
  expect_parts(fasta_error(">A|protein|empty|x\nGA\n"), {":1", "4 field"});
  expect_parts(fasta_error(">A|protein|a.a3m\nGA\n"), {":1", "a.a3m", "'empty'"});
  expect_parts(fasta_error(">A|protein\nGA\n>B|rna\nGA\n>A|rna\nGA\n"), {":5", "'A'", "twice", "line 1"});
  expect_parts(fasta_error("GA\n>A|protein\nGA\n"), {":1", "before the first header"});
  const TemporaryFile smiles("x.fasta", ">A|smiles\nCCO\n");
  EXPECT_THROW(read_fasta(smiles.path()), NotImplemented);
}

TEST(ReadFasta, NothingReadIsAnError) {
  expect_parts(fasta_error(""), {"is empty"});
  expect_parts(fasta_error("\n\n"), {"is empty"});
  expect_parts(fasta_error(">A|protein\n"), {":1", "'A'", "empty sequence"});
  expect_parts(fasta_error(">A|protein\n>B|rna\nGA\n"), {":1", "'A'", "empty sequence"});
  expect_parts(input_error([] { read_fasta("/nonexistent.fasta"); }), {"no such file"});
}

TEST(ReadFasta, Components) {
  expect_parts(fasta_error(">L|ccd\nNAQ\n"), {":2:1", "'NAQ'", "CPIZE_COMPONENTS"});
  expect_parts(fasta_error(">L|ccd\nmg\n"), {":2:1", "'mg'", "did you mean 'MG'"});
  expect_parts(fasta_error(">L|ccd\nMG\nZN\n"), {":2:1", "one component code"});
}

}  // namespace
}  // namespace cpize::features
