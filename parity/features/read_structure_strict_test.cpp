// Bad structure files: each fault is an InputError that names file, line, field, value and remedy.
#include <gtest/gtest.h>

#include "features/read_structure.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

std::string k16() { return slurp(case_file("k16_numbering.cif")); }

std::string error_of(const std::string& content) {
  const TemporaryFile file("x.cif", content);
  return input_error([&] { read_structure(file.path()); });
}

Structure structure_of(const std::string& content) {
  const TemporaryFile file("x.cif", content);
  return read_structure(file.path());
}

// A change of one atom row; the row of the message is found by searching the edited text.
std::string line_of(const std::string& text, const std::string& part) {
  const auto at = text.find(part);
  return std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

TEST(ReadStructureStrict, FilesThatAreNoStructures) {
  expect_parts(input_error([] { read_structure("/nonexistent/x.cif"); }), {"/nonexistent/x.cif", "no such file"});
  expect_parts(input_error([] { read_structure(CPIZE_PARITY_CASES); }), {"directory"});
  expect_parts(error_of(""), {"is empty"});
  expect_parts(error_of("\n \n"), {"is empty"});
  expect_parts(error_of("HEADER    HYDROLASE\n"), {":1", "PDB format", "convert"});
  expect_parts(error_of("what is this\n"), {"no valid mmCIF"});
  expect_parts(error_of("\x1F\x8B\x08 compressed"), {"gzip"});
}

TEST(ReadStructureStrict, BrokenLoopIsNamedWithItsLine) {
  const std::string text = replaced(k16(), "20.00 5 A 1\n", "20.00 5 A\n");
  expect_parts(error_of(text), {"x.cif:", "_atom_site"});
}

TEST(ReadStructureStrict, LoopWithoutRows) {
  const std::string text = k16();
  expect_parts(error_of(text.substr(0, text.find("ATOM 1 N"))), {"x.cif", "_atom_site"});
}

TEST(ReadStructureStrict, MissingRequiredColumnNamesTheNearest) {
  expect_parts(error_of(replaced(k16(), "_atom_site.Cartn_x", "_atom_site.Cart_x")), {"_atom_site.Cartn_x", "Cart_x"});
  expect_parts(error_of(replaced(k16(), "_atom_site.label_comp_id", "_atom_site.label_cmp_id")),
               {"label_comp_id", "label_cmp_id"});
}

TEST(ReadStructureStrict, MisspeltOptionalColumnIsNoDefault) {
  expect_parts(error_of(replaced(k16(), "_atom_site.occupancy", "_atom_site.occupency")),
               {"occupency", "did you mean 'occupancy'"});
  expect_parts(error_of(replaced(k16(), "_atom_site.auth_seq_id", "_atom_site.auth_sqe_id")),
               {"auth_sqe_id", "auth_seq_id"});
}

TEST(ReadStructureStrict, BadNumbersNameLineAndField) {
  for (const std::string bad : {"abc", "nan", "inf", "?", "1.46x"}) {
    const std::string text = replaced(k16(), "ATOM 2 C CA . GLY A 1 1 ? 1.460", "ATOM 2 C CA . GLY A 1 1 ? " + bad);
    expect_parts(error_of(text),
                 {"x.cif:" + line_of(text, "ATOM 2 C CA") + ",", "_atom_site.Cartn_x", "'" + bad + "'"});
  }
  const std::string seq = replaced(k16(), "ATOM 5 N N . ALA A 1 2 ?", "ATOM 5 N N . ALA A 1 2.5 ?");
  expect_parts(error_of(seq), {"x.cif:" + line_of(seq, "ATOM 5 N"), "label_seq_id", "'2.5'", "whole number"});
  const std::string occupancy = replaced(k16(), "3.800 0.000 0.000 1.00", "3.800 0.000 0.000 -1.00");
  expect_parts(error_of(occupancy), {"x.cif:" + line_of(occupancy, "ATOM 5 N"), "occupancy", "negative"});
}

TEST(ReadStructureStrict, LineIsRightWhenRowsAreWrappedQuotedAndCommented) {
  std::string text = replaced(k16(), "ATOM 1 N N . GLY", "ATOM 1 N\n# a comment ' with a quote\n'N' . GLY");
  text = replaced(text, "ATOM 2 C CA . GLY", "ATOM 2 C\n;CA\n;\n. GLY");
  text = replaced(text, "? 3.800 0.000 0.000", "?\n\n 3.8oo 0.000 0.000");
  expect_parts(error_of(text), {"x.cif:" + line_of(text, "3.8oo") + ", _atom_site.Cartn_x", "'3.8oo'"});
}

TEST(ReadStructureStrict, ElementMustExist) {
  expect_parts(error_of(replaced(k16(), "ATOM 2 C CA", "ATOM 2 Qq CA")), {"type_symbol", "QQ", "no element"});
}

TEST(ReadStructureStrict, PositionsAndComponentsMustAgreeWithTheSequence) {
  expect_parts(error_of(replaced(k16(), "GLY A 1 1 ?", "GLY A 1 8 ?")), {"label_seq_id", "'8'", "1 to 7"});
  expect_parts(error_of(replaced(k16(), "GLY A 1 1 ?", "SER A 1 1 ?")), {"label_comp_id", "'SER'", "GLY"});
  expect_parts(error_of(replaced(k16(), "1 3 ALA n", "1 4 ALA n")),
               {"_entity_poly_seq.num", "4", "follows position 2"});
  expect_parts(error_of(replaced(k16(), "ATOM 1 N N . GLY A 1 1 ?", "ATOM 1 N N . GLY A 2 1 ?")), {"entity"});
}

TEST(ReadStructureStrict, OnePositionHasOneAuthorNumber) {
  expect_parts(error_of(replaced(k16(), "ATOM 2 C CA . GLY A 1 1 ? 1.460 0.000 0.000 1.00 20.00 -1",
                                 "ATOM 2 C CA . GLY A 1 1 ? 1.460 0.000 0.000 1.00 20.00 7")),
               {"two author numbers", "-1", "7"});
}

TEST(ReadStructureStrict, DuplicateAtom) {
  const std::string text = replaced(k16(), "ATOM 3 C C . GLY", "ATOM 3 C CA . GLY");
  expect_parts(error_of(text), {"x.cif:" + line_of(text, "ATOM 3 C"), "'CA'", "twice", "label_alt_id"});
}

TEST(ReadStructureStrict, UnknownEntityAndPolymerTypes) {
  expect_parts(error_of(replaced(k16(), "1 polymer", "1 polimer")),
               {"_entity.type", "polimer", "did you mean 'polymer'"});
  expect_parts(error_of(replaced(k16(), "'polypeptide(L)'", "'polypetide(L)'")),
               {"_entity_poly.type", "polypetide(L)", "polypeptide(l)"});
}

TEST(ReadStructureStrict, TwoStructuresInOneFile) {
  expect_parts(error_of(k16() + "\n" + replaced(k16(), "data_k16_numbering", "data_other")),
               {"data_k16_numbering", "data_other", "split"});
}

TEST(ReadStructureStrict, AlternateRule) {
  const std::string row = "ATOM 2 C CA . GLY A 1 1 ? 1.460 0.000 0.000 1.00";
  const auto with = [&](const std::string& first, const std::string& second) {
    return structure_of(replaced(k16(), row,
                                 "ATOM 2 C CA A GLY A 1 1 ? 1.000 0.000 0.000 " + first +
                                     " 20.00 -1 A 1\nATOM 99 C CA B GLY A 1 1 ? 2.000 0.000 0.000 " + second));
  };
  const auto x = [](const Structure& s) { return s.chains[0].residues[0].find_atom("CA")->position[0]; };
  EXPECT_EQ(x(with("0.60", "0.40")), 1.0);
  EXPECT_EQ(x(with("0.40", "0.60")), 2.0);
  EXPECT_EQ(x(with("0.50", "0.50")), 1.0);
  EXPECT_EQ(with("0.50", "0.50").chains[0].residues[0].atoms.size(), 4U);
}

TEST(ReadStructureStrict, MicroheterogeneityTakesTheHigherOccupancy) {
  std::string text = replaced(k16(), "1 1 GLY n", "1 1 GLY y\n1 1 SER y");
  text = replaced(
      text, "ATOM 1 N N . GLY A 1 1 ? 0.000 0.000 0.000 1.00",
      "ATOM 90 N N B SER A 1 1 ? 0.500 0.000 0.000 1.50 20.00 -1 A 1\nATOM 1 N N A GLY A 1 1 ? 0.000 0.000 0.000 0.30");
  const Structure s = structure_of(text);
  EXPECT_EQ(s.chains[0].residues.size(), 7U);
  EXPECT_EQ(s.chains[0].residues[0].component, "SER");
  EXPECT_TRUE(any_contains(s.warnings, "microheterogeneity"));
}

TEST(ReadStructureStrict, LinksMustNameWhatIsThere) {
  const std::string head =
      "loop_\n_struct_conn.id\n_struct_conn.conn_type_id\n_struct_conn.ptnr1_label_asym_id\n_struct_conn.ptnr1_label_"
      "comp_id\n"
      "_struct_conn.ptnr1_label_seq_id\n_struct_conn.ptnr1_label_atom_id\n_struct_conn.ptnr2_label_asym_id\n"
      "_struct_conn.ptnr2_label_comp_id\n_struct_conn.ptnr2_label_seq_id\n_struct_conn.ptnr2_label_atom_id\n"
      "_struct_conn.ptnr1_symmetry\n_struct_conn.ptnr2_symmetry\n";
  const auto with = [&](const std::string& row) { return k16() + "\n" + head + row + "\n#\n"; };
  EXPECT_EQ(structure_of(with("l1 covale A GLY 1 N A ALA 7 C 1_555 1_555")).links.size(), 1U);
  EXPECT_EQ(structure_of(with("l1 disulf A GLY 1 N A ALA 7 C 1_555 1_555")).links.size(), 0U);
  const Structure copy = structure_of(with("l1 covale A GLY 1 N A ALA 7 C 1_555 2_555"));
  EXPECT_TRUE(copy.links.empty());
  EXPECT_TRUE(any_contains(copy.warnings, "symmetry copies"));
  expect_parts(error_of(with("l1 covalent A GLY 1 N A ALA 7 C 1_555 1_555")), {"covalent", "did you mean 'covale'"});
  expect_parts(error_of(with("l1 covale B GLY 1 N A ALA 7 C 1_555 1_555")),
               {"_struct_conn.ptnr1_label_asym_id", "'B'", "chains: A"});
  expect_parts(error_of(with("l1 covale A GLY 1 N A ALA 9 C 1_555 1_555")), {"chain A", "ALA 9"});
  expect_parts(error_of(with("l1 covale A SER 1 N A ALA 7 C 1_555 1_555")), {"'SER'", "GLY"});
}

TEST(ReadStructureStrict, ChainIdsAreKeptWhole) {
  const Structure s =
      structure_of(replaced(replaced(k16(), " A 1 ", " heavychain_1 1 "), " A 1\n", " 'long author name' 1\n"));
  EXPECT_EQ(s.chains.at(0).id, "heavychain_1");
  EXPECT_EQ(s.chains.at(0).author, "long author name");
  EXPECT_NE(find_author_residue(s, "long author name:1A"), nullptr);
}

}  // namespace
}  // namespace cpize::features
