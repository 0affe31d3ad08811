#include "features/read_msa_csv.hpp"

#include <algorithm>
#include <vector>

#include "error/error.hpp"
#include "features/alignment_builder.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

struct Value {
  std::string text;
  size_t column = 1;  ///< of the line, where it starts
};

std::vector<Value> split(const Line& line, const std::string& where) {
  std::vector<Value> values(1);
  bool quoted = false;
  for (size_t i = 0; i < line.text.size(); ++i) {
    Value& value = values.back();
    const char c = line.text[i];
    if (c == '"') {
      if (!quoted && !strip(value.text).empty())
        throw InputError(where + ":" + std::to_string(i + 1), "a quotation mark in the middle of a value");
      quoted = !quoted;
      if (quoted) value = {"", i + 2};
    } else if (c == ',' && !quoted) {
      values.push_back({"", i + 2});
    } else {
      value.text += c;
    }
  }
  if (quoted) throw InputError(where, "a quotation mark is not closed");
  return values;
}

struct Columns {
  size_t key = 0, sequence = 0;
};

Columns read_header(const std::vector<Value>& values, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& value : values) names.emplace_back(strip(value.text));
  const std::vector<std::string> known = {"key", "sequence"};
  for (const auto& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw InputError(where, "unknown column '" + name + "'; the first line names the columns " + join(known) +
                                  did_you_mean(name, known));
    }
  }
  for (const auto& name : known) {
    if (const auto count = std::count(names.begin(), names.end(), name); count != 1) {
      throw InputError(where, "column '" + name + "' is named " + std::to_string(count) +
                                  " times; the first line names each of " + join(known) + " once");
    }
  }
  return names[0] == "key" ? Columns{0, 1} : Columns{1, 0};
}

}  // namespace

Alignment read_msa_csv(const std::string& path, MolType type) {
  AlignmentBuilder builder(path, type, Duplicates::drop_if_no_key);
  std::optional<Columns> columns;
  for (const auto& line : lines_of(read_text_file(path))) {
    if (strip(line.text).empty()) continue;
    const std::string where = path + ":" + std::to_string(line.number);
    const auto values = split(line, where);
    if (!columns) {
      columns = read_header(values, where);
      continue;
    }
    if (values.size() != 2) {
      throw InputError(where, "has " + std::to_string(values.size()) + " value(s); expected two, key and sequence");
    }
    AlignmentRow row;
    row.line = line.number;
    row.key = strip(values[columns->key].text);
    if (row.key == "-1") row.key.clear();
    const Value& sequence = values[columns->sequence];
    if (strip(sequence.text).empty()) throw InputError(where, "the sequence is empty");
    builder.add(std::move(row), {{sequence.text, line.number}}, sequence.column);
  }
  return builder.finish();
}

}  // namespace cpize::features
