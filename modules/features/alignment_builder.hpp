// Builds an Alignment row by row; the strict checks that all alignment formats share.
#pragma once
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "features/alignment.hpp"
#include "features/text.hpp"

namespace cpize::features {

/// What happens to a row whose letters, without gaps and in upper case, stood in an earlier row.
enum class Duplicates {
  drop,           ///< left out
  drop_if_no_key  ///< left out unless it has a taxonomy key: it may pair with another chain's row
};

class AlignmentBuilder {
 public:
  AlignmentBuilder(std::string source, MolType type, Duplicates duplicates);

  /// One row. `lines` hold its letters; `column` is where they start in each line, for messages. Upper case is a
  /// residue, lower case an insertion, `-` a gap; `.` is a gap against somebody's insertion and says nothing; one `*`
  /// at the end is dropped.
  /// @throws InputError with file, line and place.
  void add(AlignmentRow row, const std::vector<Line>& lines, size_t column = 1);

  /// @throws InputError if there is no row.
  Alignment finish();

 private:
  void add_letter(AlignmentRow& row, char letter, int& insertions, const Line& line, size_t place);
  std::string where(int line, size_t place) const;

  Alignment alignment_;
  Duplicates duplicates_;
  std::unordered_set<std::string> seen_;
  bool ambiguous_ = false;
};

}  // namespace cpize::features
