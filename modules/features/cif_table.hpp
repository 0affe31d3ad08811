// A parsed mmCIF file with categories as strict tables: every message can name the file, the line and the field.
#pragma once
#include <gemmi/cifdoc.hpp>
#include <string>
#include <vector>

namespace cpize::features {

/// A parsed file. Syntax errors are InputError with file and line.
struct CifFile {
  std::string path;
  std::string text;  ///< normalised by read_text_file
  gemmi::cif::Document document;

  static CifFile read(const std::string& path);
};

/// One category of a block ("_atom_site."), written as a loop or as single values; without rows if the block lacks it.
class CifTable {
 public:
  CifTable(CifFile& file, gemmi::cif::Block& block, const std::string& category);

  bool exists() const { return !tags_.empty(); }
  int rows() const { return rows_; }

  /// The column of an item ("label_asym_id"; case does not matter), or -1.
  int find(const std::string& item) const;
  /// The same; absent is an InputError that names the nearest column that is there.
  int require(const std::string& item) const;
  /// The column, or -1; but a column with a name that is almost this one and not a known item is an InputError.
  int optional(const std::string& item, const std::vector<std::string>& known_items) const;

  /// True for `.` and `?` and for an absent column (-1).
  bool is_null(int row, int column) const;
  /// The value without quotes; "" for null.
  std::string text(int row, int column) const;
  /// A value that may not be null.
  std::string required_text(int row, int column) const;
  /// @throws InputError if the value is null or no finite number.
  double number(int row, int column) const;
  /// @throws InputError if the value is null or no whole number.
  int integer(int row, int column) const;

  /// "file:line, _atom_site.Cartn_x" of a value; column -1: of the row.
  std::string where(int row, int column) const;
  /// "file:line, _atom_site" of the table's start (just the file if it does not exist).
  std::string where() const;

 private:
  const std::string& raw(int row, int column) const;
  int line_of(int row, int column) const;

  CifFile* file_;
  std::string category_;
  std::vector<std::string> tags_;   ///< item names in column order, as typed
  std::vector<std::string> lower_;  ///< lower case
  const gemmi::cif::Loop* loop_ = nullptr;
  std::vector<const gemmi::cif::Item*> pairs_;
  int rows_ = 0;
  int loop_line_ = 0;
};

}  // namespace cpize::features
