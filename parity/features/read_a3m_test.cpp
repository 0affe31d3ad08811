// a3m: what is read from real and hostile files, and each fault with file, line and place.
#include "features/read_a3m.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "test_files.hpp"

namespace cpize::features {
namespace {

Alignment a3m(const std::string& text, MolType type = MolType::protein, A3mKeys keys = A3mKeys::tax_id) {
  const TemporaryFile file("x.a3m", text);
  return read_a3m(file.path(), type, keys);
}

std::string a3m_error(const std::string& text, MolType type = MolType::protein) {
  const TemporaryFile file("x.a3m", text);
  return input_error([&] { read_a3m(file.path(), type); });
}

int deletion_places(const Alignment& alignment) {
  return std::accumulate(alignment.rows.begin(), alignment.rows.end(), 0,
                         [](int sum, const AlignmentRow& row) { return sum + static_cast<int>(row.deletions.size()); });
}

int deleted_letters(const Alignment& alignment) {
  int letters = 0;
  for (const auto& row : alignment.rows) {
    for (const auto& deletion : row.deletions) letters += deletion.count;
  }
  return letters;
}

/// The row's residue types as letters, gaps as '-'.
std::string text_of(const AlignmentRow& row) {
  const std::string letters = "?-ARNDCQEGHILKMFPSTWYVX";
  std::string text;
  for (const auto residue : row.residues) text += letters.at(residue);
  return text;
}

const std::string kQuery = "MKVLAAGIVGLPNSTWKEEDHRYQFC";  // of the K cases
const std::string kHit = "MKVLAAGIVGLP----KEEDHRYQFC";    // with `gg` in front of column 6

TEST(ReadA3m, HaemoglobinAlpha) {  // counted with a script: 3391 rows, 43 of them repeat an earlier one
  const Alignment a = read_a3m(data_file("1a00_A_uniref90.a3m"), MolType::protein);
  EXPECT_EQ(a.columns(), 141);
  EXPECT_EQ(a.query.substr(0, 10), "VLSPADKTNV");
  ASSERT_EQ(a.rows.size(), 3348U);
  EXPECT_EQ(a.duplicates, 43);
  EXPECT_EQ(a.rows[0].name, "query");
  EXPECT_EQ(a.rows[0].line, 3);  // behind two comment lines
  EXPECT_TRUE(a.rows[0].deletions.empty());
  EXPECT_EQ(deletion_places(a), 4103);
  EXPECT_EQ(deleted_letters(a), 11631);
  EXPECT_EQ(a.keyed_rows(), 0);  // "TaxID=" names the common ancestor of a cluster: only by asking
  ASSERT_EQ(a.rows[6].deletions.size(), 1U);
  EXPECT_EQ(a.rows[6].deletions[0].column, 46);
  EXPECT_EQ(a.rows[6].deletions[0].count, 1);
  EXPECT_EQ(text_of(a.rows.back()).substr(0, 20), "-LTDADKKSIHHIWSKLFEN");
  EXPECT_EQ(a.rows.back().name.substr(0, 16), "UniRef90_K7FYQ5/");
  for (const auto& row : a.rows) EXPECT_EQ(row.residues.size(), 141U);
}

TEST(ReadA3m, KeysOfUniRefHeadersByAsking) {
  const Alignment a = read_a3m(data_file("1a00_A_uniref90.a3m"), MolType::protein, A3mKeys::uniref_headers);
  EXPECT_EQ(a.keyed_rows(), 3335);  // 12 are of unknown species: "TaxID=N/A"
  EXPECT_EQ(a.rows[1].key, "40151");
  EXPECT_EQ(a.rows[0].key, "");
}

TEST(ReadA3m, TabbedHeadersAndInsertions) {
  const Alignment one = read_a3m(data_file("seq1.a3m"), MolType::protein);
  EXPECT_EQ(one.columns(), 384);
  EXPECT_EQ(one.rows.size(), 249U);
  EXPECT_EQ(one.duplicates, 0);
  EXPECT_EQ(deletion_places(one), 396);
  EXPECT_EQ(deleted_letters(one), 833);
  EXPECT_TRUE(one.rows[1].name.starts_with("UniRef100_A0A0D4WTP2\t338\t"));
  const Alignment two = read_a3m(data_file("seq2.a3m"), MolType::protein);  // its query comes again in the middle
  EXPECT_EQ(two.columns(), 136);
  EXPECT_EQ(two.rows.size(), 75U);
  EXPECT_EQ(two.duplicates, 9);
  EXPECT_EQ(deletion_places(two), 71);
  EXPECT_EQ(deleted_letters(two), 352);
  EXPECT_EQ(two.rows[0].residues[18], kUnknownProtein);
}

TEST(ReadA3m, LowerCaseQueryIsAnErrorAtThatLine) {  // K02
  const std::string message = input_error([] { read_a3m(case_file("k02_lower_query.a3m"), MolType::protein); });
  expect_parts(message, {"k02_lower_query.a3m:2:1:", "query", "'m'", "insertion", "upper case"});
}

TEST(ReadA3m, HashLineFirst) {  // K04
  const Alignment a = read_a3m(case_file("k04_hash_first.a3m"), MolType::protein);
  ASSERT_EQ(a.rows.size(), 2U);
  EXPECT_EQ(a.query, kQuery);
  EXPECT_EQ(a.rows[0].line, 2);
  EXPECT_EQ(a.rows[1].name, "hit1\t87\t0.41");
  EXPECT_EQ(text_of(a.rows[1]), kHit);
}

TEST(ReadA3m, DotsAndStar) {  // K04
  const Alignment a = read_a3m(case_file("k04_dots_and_star.a3m"), MolType::protein);
  ASSERT_EQ(a.rows.size(), 2U);
  EXPECT_EQ(a.query, kQuery);
  EXPECT_EQ(text_of(a.rows[1]), kHit);
  ASSERT_EQ(a.rows[1].deletions.size(), 1U);
  EXPECT_EQ(a.rows[1].deletions[0].column, 6);
  EXPECT_EQ(a.rows[1].deletions[0].count, 2);
}

TEST(ReadA3m, SecondAlignmentBehindNul) {  // K04
  const std::string message = input_error([] { read_a3m(case_file("k04_nul_separator.a3m"), MolType::protein); });
  expect_parts(message, {"k04_nul_separator.a3m:5:", "second alignment", "NUL"});
  const std::string text = slurp(case_file("k04_nul_separator.a3m"));
  const std::string nul(1, '\0');
  const std::string first = text.substr(0, text.find(nul));
  EXPECT_EQ(a3m(first).rows.size(), 2U);
  EXPECT_EQ(a3m(first + nul).rows.size(), 2U);
  EXPECT_EQ(a3m(first + nul + nul + "\n").rows.size(), 2U);
  EXPECT_EQ(a3m(nul + first).rows.size(), 2U);
  expect_parts(a3m_error(nul + "\n" + nul), {"is empty"});
}

TEST(ReadA3m, TwoRowsWithoutFinalNewline) {  // K04: the second row repeats the first
  const Alignment a = read_a3m(case_file("6a5j_101.a3m"), MolType::protein);
  EXPECT_EQ(a.query, "IKKILSKIKKLLK");
  EXPECT_EQ(a.rows.size(), 1U);
  EXPECT_EQ(a.duplicates, 1);
}

TEST(ReadA3m, WrappedLinesCrlfBomBlanksAndCommentsReadTheSame) {
  const std::string plain = ">q\nGACKLM\n>h one\nGaaA-KLMtt\n";
  const Alignment expected = a3m(plain);
  ASSERT_EQ(expected.rows.size(), 2U);
  EXPECT_EQ(expected.rows[1].deletions.size(), 1U);  // `tt` is behind the last column
  for (const std::string text :
       {">q\nGAC\nKLM\n>h one\nGa\naA-K\nLMt\nt\n", ">q\r\nGACKLM\r\n>h one\r\nGaaA-KLMtt\r\n",
        "\xEF\xBB\xBF>q\nGACKLM\n>h one\nGaaA-KLMtt", "# a\n;b\n>q\n\n GACKLM \n; c\n>h one\nGaaA-KLMtt*\n",
        "> q\nGACKLM\n>\th one\n\tGa.aA-KLM..tt\n"}) {
    const Alignment a = a3m(text);
    SCOPED_TRACE(text);
    EXPECT_EQ(a.query, "GACKLM");
    ASSERT_EQ(a.rows.size(), 2U);
    EXPECT_EQ(a.rows[0].name, "q");
    EXPECT_EQ(a.rows[1].name, "h one");
    EXPECT_EQ(a.rows[1].residues, expected.rows[1].residues);
    ASSERT_EQ(a.rows[1].deletions.size(), 1U);
    EXPECT_EQ(a.rows[1].deletions[0].column, 1);
    EXPECT_EQ(a.rows[1].deletions[0].count, 2);
  }
}

TEST(ReadA3m, UnequalLengthsNameTheRowsLine) {
  expect_parts(a3m_error(">q\nGACK\n>h1\nGACK\n>h2\nGA-Kk\n>h3 x\nGACKL\n"),
               {"x.a3m:8:", "'h3 x'", "5 columns", "query 4"});
  expect_parts(a3m_error("# c\n>q\nGACK\n\n>short\nG\nAC\n"), {"x.a3m:6:", "'short'", "3 columns"});
}

TEST(ReadA3m, UnknownLettersNameLineAndPlace) {
  expect_parts(a3m_error(">q\nGACK\n>h\nGA1K\n"), {"x.a3m:4:3:", "'1'", "protein", "ACDEFGH"});
  expect_parts(a3m_error(">q\nGACK\n>h\nGA\n C*K\n"), {"x.a3m:5:3:", "'*' in the middle"});
  expect_parts(a3m_error(">q\nGACK\n>h\nG AK\n"), {"x.a3m:4:2:", "' '"});
  expect_parts(a3m_error(">q\nGACK\n>h\nGA\xC3\xA9K\n"), {"x.a3m:4:3:", "byte 195"});
  expect_parts(a3m_error(">q\nGA-K\n"), {"x.a3m:2:3:", "query", "gap"});
}

TEST(ReadA3m, TheAlphabetIsTheChainTypes) {  // K07
  const std::string text = ">q\nGACG\n>h\nGAgC-\n";
  const Alignment protein = a3m(text), rna = a3m(text, MolType::rna), dna = a3m(text, MolType::dna);
  for (const size_t row : {0U, 1U}) {
    for (const auto p : protein.rows[row].residues) {
      for (const auto* other : {&rna, &dna}) {
        for (const auto r : other->rows[row].residues) EXPECT_TRUE(p != r || p == kGap) << int(p);
      }
    }
  }
  EXPECT_EQ(rna.rows[0].residues, (std::vector<std::uint8_t>{24, 23, 25, 24}));
  EXPECT_EQ(dna.rows[0].residues, (std::vector<std::uint8_t>{29, 28, 30, 29}));
  expect_parts(a3m_error(">q\nGACU\n>h\nGACT\n", MolType::rna), {"x.a3m:4:4:", "'T'", "RNA", "write U"});
  expect_parts(a3m_error(">q\nGACU\n>h\nGAtCU\n", MolType::rna), {"x.a3m:4:3:", "'T'"});
  expect_parts(a3m_error(">q\nGACT\n>h\nGACU\n", MolType::dna), {"x.a3m:4:4:", "'U'", "DNA", "write T"});
  expect_parts(a3m_error(">q\nGACE\n", MolType::rna), {"x.a3m:2:4:", "'E'", "rna", "ACGUN"});
  expect_parts(a3m_error(">q\nGACE\n", MolType::nonpolymer), {"x.a3m", "non-polymer"});
}

TEST(ReadA3m, RareAndAmbiguousLetters) {
  const Alignment protein = a3m(">q\nGUOX\n>h\nBZJX\n");
  EXPECT_EQ(protein.rows[0].residues, (std::vector<std::uint8_t>{9, 22, 22, 22}));
  EXPECT_EQ(protein.rows[1].residues, (std::vector<std::uint8_t>{22, 22, 22, 22}));
  ASSERT_EQ(protein.warnings.size(), 1U);
  expect_parts(protein.warnings[0], {"B, Z and J", "unknown"});
  EXPECT_EQ(a3m(">q\nGANU\n>h\nRYSK\n", MolType::rna).rows[1].residues, (std::vector<std::uint8_t>{27, 27, 27, 27}));
  EXPECT_TRUE(a3m(">q\nGUOX\n").warnings.empty());
}

TEST(ReadA3m, Duplicates) {  // compared without gaps and case; the first stays, the query always
  const Alignment a = a3m(">q\nGACK\n>same\nGACK\n>h1\nGA-K\n>shifted\nG-AK\n>inserted\nG-aK-\n>h2\nGAC-\n");
  std::vector<std::string> names;
  for (const auto& row : a.rows) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"q", "h1", "h2"}));
  EXPECT_EQ(a.duplicates, 3);
}

TEST(ReadA3m, TaxIdFields) {
  const Alignment a = a3m(">q\nGAC\n>h1\ttax_id:9606\nGA-\n>h2 tax_id: TaxID=7\nG--\n>UniRef100_P1\nGC-\n");
  EXPECT_EQ(a.rows[1].key, "9606");
  EXPECT_EQ(a.rows[2].key, "");
  EXPECT_EQ(a.rows[3].key, "");
  const TemporaryFile file("x.a3m", ">q\nGAC\n>h2 TaxID=7 RepID=X_9\nG--\n");
  EXPECT_EQ(read_a3m(file.path(), MolType::protein).rows[1].key, "");
  EXPECT_EQ(read_a3m(file.path(), MolType::protein, A3mKeys::uniref_headers).rows[1].key, "7");
}

TEST(ReadA3m, NothingReadIsAnError) {
  expect_parts(a3m_error(""), {"x.a3m", "is empty"});
  expect_parts(a3m_error("# only\n; comments\n"), {"x.a3m", "holds no sequence"});
  expect_parts(a3m_error(">q\n>h\nGAC\n"), {"x.a3m:1:", "query", "no residues"});
  expect_parts(a3m_error(">q\nGAC\n>h\n\n>i\nGAC\n"), {"x.a3m:3:", "'h'", "no residues"});
  expect_parts(a3m_error("GAC\n>q\nGAC\n"), {"x.a3m:1:", "before the first header"});
  expect_parts(input_error([] { read_a3m("/nonexistent.a3m", MolType::protein); }), {"no such file"});
  const TemporaryFile file("x.sto", ">q\nGAC\n");
  expect_parts(input_error([&] { read_alignment(file.path(), MolType::protein); }), {"x.sto", ".a3m or .csv"});
}

}  // namespace
}  // namespace cpize::features
