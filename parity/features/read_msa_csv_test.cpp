// CSV alignments: keys, either order of columns, and each fault with file, line and place.
#include "features/read_msa_csv.hpp"

#include <gtest/gtest.h>

#include "features/read_a3m.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

Alignment csv(const std::string& text) {
  const TemporaryFile file("x.csv", text);
  return read_alignment(file.path(), MolType::protein);
}

std::string csv_error(const std::string& text) {
  const TemporaryFile file("x.csv", text);
  return input_error([&] { read_msa_csv(file.path(), MolType::protein); });
}

TEST(ReadMsaCsv, KeysStayTextAndColumnsComeInEitherOrder) {
  const Alignment a = csv("key,sequence\n,GACK\n9606,GAaa-K\n-1,G--K\n\n0012, GA-- \nHomo sapiens,G---\n");
  ASSERT_EQ(a.rows.size(), 5U);
  std::vector<std::string> keys;
  for (const auto& row : a.rows) keys.push_back(row.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"", "9606", "", "0012", "Homo sapiens"}));
  EXPECT_EQ(a.keyed_rows(), 3);
  EXPECT_EQ(a.query, "GACK");
  EXPECT_EQ(a.rows[1].residues, (std::vector<std::uint8_t>{9, 2, kGap, 13}));
  ASSERT_EQ(a.rows[1].deletions.size(), 1U);
  EXPECT_EQ(a.rows[1].deletions[0].column, 2);
  EXPECT_EQ(a.rows[1].deletions[0].count, 2);
  EXPECT_EQ(a.rows[4].line, 7);
  for (const std::string text : {"sequence,key\nGACK,\nGAaa-K,9606\n",
                                 "\xEF\xBB\xBF\"key\",\"sequence\"\r\n\"\",\"GACK\"\r\n\"9606\",\"GAaa-K\"\r\n",
                                 " key , sequence \n,GACK\n9606,GAaa-K*"}) {
    SCOPED_TRACE(text);
    const Alignment b = csv(text);
    ASSERT_EQ(b.rows.size(), 2U);
    EXPECT_EQ(b.rows[1].key, "9606");
    EXPECT_EQ(b.rows[1].residues, a.rows[1].residues);
    EXPECT_EQ(b.rows[1].deletions.size(), 1U);
  }
}

TEST(ReadMsaCsv, DuplicatesWithAKeyStay) {
  const Alignment a = csv("key,sequence\n,GACK\n,GACK\n7,GACK\n8,GA-K\n,G-AK\n9,GA-K\n");
  ASSERT_EQ(a.rows.size(), 4U);
  EXPECT_EQ(a.duplicates, 2);
  EXPECT_EQ(a.rows[1].key, "7");
  EXPECT_EQ(a.rows[3].key, "9");
}

TEST(ReadMsaCsv, HeaderFaults) {
  expect_parts(csv_error("key,sequnce\n,GACK\n"), {"x.csv:1:", "'sequnce'", "did you mean 'sequence'"});
  expect_parts(csv_error("key\n1\n"), {"x.csv:1:", "'sequence' is named 0 times"});
  expect_parts(csv_error("key,key,sequence\n1,1,GACK\n"), {"x.csv:1:", "'key' is named 2 times"});
  expect_parts(csv_error("key,sequence,taxon\n"), {"x.csv:1:", "'taxon'"});
  expect_parts(csv_error(",GACK\n"), {"x.csv:1:", "unknown column ''"});
}

TEST(ReadMsaCsv, RowFaults) {
  expect_parts(csv_error("key,sequence\n,GACK\n1,GA-K,x\n"), {"x.csv:3:", "3 value(s)"});
  expect_parts(csv_error("key,sequence\n,GACK\nGA-K\n"), {"x.csv:3:", "1 value(s)"});
  expect_parts(csv_error("key,sequence\n,GACK\n1,\n"), {"x.csv:3:", "sequence is empty"});
  expect_parts(csv_error("key,sequence\n,GACK\n1,\"GA-K\n"), {"x.csv:3:", "not closed"});
  expect_parts(csv_error("key,sequence\n,GACK\n1,GA\"-K\n"), {"x.csv:3:5:", "quotation mark"});
  expect_parts(csv_error("key,sequence\n,GACK\n1,GA-\n"), {"x.csv:3:", "3 columns", "query 4"});
  expect_parts(csv_error("key,sequence\n,GACK\n12,GA?K\n"), {"x.csv:3:6:", "'?'"});
  expect_parts(csv_error("key,sequence\n,gACK\n"), {"x.csv:2:2:", "query", "'g'", "lower case"});
  expect_parts(csv_error("key,sequence\n"), {"x.csv", "holds no sequence"});
  expect_parts(csv_error(""), {"x.csv", "is empty"});
  expect_parts(csv_error(std::string("key,sequence\n,GACK\n\0", 20)), {"x.csv:3", "NUL"});
}

}  // namespace
}  // namespace cpize::features
