// Which rows stand beside which: keys, copies, fillers, limits.
#include "features/msa_pairing.hpp"

#include <gtest/gtest.h>

#include "error/error.hpp"

namespace cpize::features {
namespace {

/// An alignment whose rows have these keys; the query has none.
std::shared_ptr<const Alignment> with_keys(const std::vector<std::string>& keys) {
  auto alignment = std::make_shared<Alignment>();
  alignment->query = "G";
  alignment->rows.push_back({"query", "", 1, {9}, {}});
  for (const auto& key : keys) alignment->rows.push_back({"hit", key, 1, {9}, {}});
  return alignment;
}

std::string text_of(const std::vector<MsaRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += text.empty() ? "" : " | ";
    for (size_t c = 0; c < row.row.size(); ++c) {
      text += c > 0 ? " " : "";
      text += row.row[c] == MsaRow::kNoRow ? "-" : std::to_string(row.row[c]);
      text += row.paired[c] != 0 ? "*" : "";
    }
  }
  return text;
}

TEST(PairRows, OneChainPairsNothing) {  // also not a species that it has twice
  EXPECT_EQ(text_of(pair_rows({{with_keys({"9606", "9606", ""})}, {}})), "0* | 1 | 2 | 3");
}

TEST(PairRows, SharedKeysComeFirstAndAreNotRepeated) {
  const ChainAlignments two{{with_keys({"a", "", "b", ""}), with_keys({"", "b", "c"})}, {}};
  EXPECT_EQ(text_of(pair_rows(two)), "0* 0* | 3* 2* | 1 1 | 2 3 | 4 -");
}

TEST(PairRows, KeysOfMostChainsFirstThenInOrderOfUse) {
  const ChainAlignments three{{with_keys({"x", "y", "z"}), with_keys({"y", "x", ""}), with_keys({"y", "", "z"})}, {}};
  // y: three chains; x: chains 0 and 1 (chain 2 gets its next unpaired row, 2); z: chains 0 and 2 (chain 1: row 3)
  EXPECT_EQ(text_of(pair_rows(three)), "0* 0* 0* | 2* 1* 1* | 1* 2* 2 | 3* 3 3*");
}

TEST(PairRows, AKeyWithSeveralRowsRollsOver) {
  const ChainAlignments two{{with_keys({"a", "a", "a"}), with_keys({"a", "", "a"})}, {}};
  EXPECT_EQ(text_of(pair_rows(two)), "0* 0* | 1* 1* | 2* 3* | 3* 1* | - 2");
}

TEST(PairRows, ChainsWithoutAlignmentOrKeys) {
  const auto a = with_keys({"", ""});
  EXPECT_EQ(text_of(pair_rows({{a, a}, {}})), "0* 0* | 1 1 | 2 2");  // copies go side by side
  EXPECT_EQ(text_of(pair_rows({{a, nullptr}, {}})), "0* 0* | 1 - | 2 -");
  EXPECT_EQ(text_of(pair_rows({{nullptr, nullptr}, {}})), "0* 0*");
  const auto k = with_keys({"a", "b"});
  EXPECT_EQ(text_of(pair_rows({{k, k, nullptr}, {}})), "0* 0* 0* | 1* 1* - | 2* 2* -");
}

TEST(PairRows, LimitsCountTheQueryAndLoseNoRow) {
  const auto k = with_keys({"a", "b", "c", ""});
  EXPECT_EQ(text_of(pair_rows({{k, k}, {}}, {.paired = 3, .rows = 16})), "0* 0* | 1* 1* | 2* 2* | 3 3 | 4 4");
  EXPECT_EQ(text_of(pair_rows({{k, k}, {}}, {.paired = 3, .rows = 4})), "0* 0* | 1* 1* | 2* 2* | 3 3");
  EXPECT_EQ(text_of(pair_rows({{k, k}, {}}, {.paired = 3, .rows = 2})), "0* 0* | 1* 1*");
  EXPECT_EQ(text_of(pair_rows({{k, k}, {}}, {.paired = 1, .rows = 3})), "0* 0* | 1 1 | 2 2");
  EXPECT_THROW(pair_rows({{k}, {}}, {.paired = 0, .rows = 3}), ContractError);
  EXPECT_THROW(pair_rows({{k}, {}}, {.paired = 3, .rows = 0}), ContractError);
}

TEST(PairRows, PublishedLimitsOnADeepAlignment) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20000; ++i) keys.push_back(i < 9000 ? std::to_string(i) : "");
  const auto k = with_keys(keys);
  const auto rows = pair_rows({{k, k}, {}});
  ASSERT_EQ(rows.size(), 16384U);
  const auto paired = std::count_if(rows.begin(), rows.end(), [](const MsaRow& row) { return row.paired[0] != 0; });
  EXPECT_EQ(paired, 8192);
  EXPECT_EQ(rows[8191].row[0], 8191);
  EXPECT_EQ(rows[8192].row[0], 8192);  // a keyed row that the limit cut off
  EXPECT_EQ(rows.back().row[1], 16383);
}

}  // namespace
}  // namespace cpize::features
