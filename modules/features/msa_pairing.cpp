#include "features/msa_pairing.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "error/error.hpp"

namespace cpize::features {

namespace {

using RowsByChain = std::map<size_t, std::vector<int>>;

/// The rows of each key that several chains have, in the order in which they are used.
std::vector<RowsByChain> shared_keys(const ChainAlignments& alignments) {
  std::map<std::string, size_t> place;
  std::vector<RowsByChain> keys;
  for (size_t c = 0; c < alignments.of_chain.size(); ++c) {
    if (!alignments.of_chain[c]) continue;
    const auto& rows = alignments.of_chain[c]->rows;
    for (size_t r = 1; r < rows.size(); ++r) {
      if (rows[r].key.empty()) continue;
      const auto [found, fresh] = place.try_emplace(rows[r].key, keys.size());
      if (fresh) keys.emplace_back();
      keys[found->second][c].push_back(static_cast<int>(r));
    }
  }
  std::erase_if(keys, [](const RowsByChain& rows) { return rows.size() < 2; });
  std::stable_sort(keys.begin(), keys.end(),
                   [](const RowsByChain& a, const RowsByChain& b) { return a.size() > b.size(); });
  return keys;
}

/// The rows of part 2, chains without the key left open.
std::vector<MsaRow> paired_rows(const ChainAlignments& alignments, int limit) {
  const size_t chains = alignments.of_chain.size();
  std::vector<MsaRow> result;
  for (const auto& key : shared_keys(alignments)) {
    size_t count = 0;
    for (const auto& [chain, rows] : key) count = std::max(count, rows.size());
    for (size_t i = 0; i < count; ++i) {
      if (static_cast<int>(result.size()) >= limit) return result;
      MsaRow row{std::vector<int>(chains, MsaRow::kNoRow), std::vector<unsigned char>(chains, 0)};
      for (const auto& [chain, rows] : key) {
        row.row[chain] = rows[i % rows.size()];
        row.paired[chain] = 1;
      }
      result.push_back(std::move(row));
    }
  }
  return result;
}

}  // namespace

std::vector<MsaRow> pair_rows(const ChainAlignments& alignments, const MsaLimits& limits) {
  if (limits.paired < 1 || limits.rows < 1) {
    throw ContractError("MSA limits of " + std::to_string(limits.paired) + " paired and " +
                        std::to_string(limits.rows) + " rows; expected at least 1, the query row");
  }
  const size_t chains = alignments.of_chain.size();
  std::vector<MsaRow> rows{{std::vector<int>(chains, 0), std::vector<unsigned char>(chains, 1)}};
  const int paired_limit = std::min(limits.paired, limits.rows);
  for (auto& row : paired_rows(alignments, paired_limit - 1)) rows.push_back(std::move(row));

  std::vector<std::deque<int>> left(chains);
  for (size_t c = 0; c < chains; ++c) {
    if (!alignments.of_chain[c]) continue;
    std::vector<unsigned char> used(alignments.of_chain[c]->rows.size(), 0);
    for (const auto& row : rows) {
      if (row.row[c] != MsaRow::kNoRow) used[static_cast<size_t>(row.row[c])] = 1;
    }
    for (size_t r = 1; r < used.size(); ++r) {
      if (used[r] == 0) left[c].push_back(static_cast<int>(r));
    }
  }
  const auto fill = [&](MsaRow& row) {
    for (size_t c = 0; c < chains; ++c) {
      if (row.row[c] != MsaRow::kNoRow || left[c].empty()) continue;
      row.row[c] = left[c].front();
      left[c].pop_front();
    }
  };
  for (auto& row : rows) fill(row);
  const auto some_left = [&] {
    return std::any_of(left.begin(), left.end(), [](const std::deque<int>& rest) { return !rest.empty(); });
  };
  while (static_cast<int>(rows.size()) < limits.rows && some_left()) {
    rows.push_back({std::vector<int>(chains, MsaRow::kNoRow), std::vector<unsigned char>(chains, 0)});
    fill(rows.back());
  }
  return rows;
}

}  // namespace cpize::features
