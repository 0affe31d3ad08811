#include "features/read_fasta.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

struct Entry {
  std::string id;
  std::string type;
  int line = 0;
  std::vector<Line> sequence;
};

std::string at(const std::string& path, int line, size_t column) {
  return path + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> fields;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    fields.emplace_back(strip(std::string_view(text).substr(begin, end - begin)));
    if (end == std::string::npos) return fields;
    begin = end + 1;
  }
}

Entry read_header(const std::string& path, const Line& line) {
  const auto fields = split(line.text.substr(1), '|');
  const std::string where = path + ":" + std::to_string(line.number);
  if (fields.size() < 2 || fields.size() > 3) {
    throw InputError(where, "header '" + line.text + "' has " + std::to_string(fields.size()) +
                                " field(s); expected '>id|type', for example '>A|protein'");
  }
  Entry entry{fields[0], to_lower(fields[1]), line.number, {}};
  if (entry.id.empty()) throw InputError(where, "the chain id is empty; expected '>id|type', for example '>A|protein'");
  if (entry.id.size() > kLongestChainId) {
    throw InputError(where, "chain id '" + entry.id + "' has " + std::to_string(entry.id.size()) +
                                " characters; at most " + std::to_string(kLongestChainId) + " are allowed");
  }
  if (const auto bad =
          std::find_if_not(entry.id.begin(), entry.id.end(), [](unsigned char c) { return std::isgraph(c) != 0; });
      bad != entry.id.end()) {
    throw InputError(at(path, line.number, 2 + static_cast<size_t>(bad - entry.id.begin())),
                     "chain id '" + entry.id + "' holds a blank or a character that is not printable ASCII");
  }
  static const std::vector<std::string> types = {"protein", "dna", "rna", "ccd"};
  if (entry.type == "smiles") {
    throw NotImplemented(where + ": chains given as SMILES are not read yet; give the component code ('" + entry.id +
                         "|ccd')");
  }
  if (std::find(types.begin(), types.end(), entry.type) == types.end()) {
    throw InputError(
        where, "unknown chain type '" + fields[1] + "'; known are " + join(types) + did_you_mean(entry.type, types));
  }
  if (fields.size() == 3 && !fields[2].empty() && fields[2] != "empty") {
    throw InputError(
        where, "alignment '" + fields[2] + "' is given; alignments are not read from FASTA headers, write 'empty'");
  }
  return entry;
}

std::vector<Entry> read_entries(const std::string& path) {
  std::vector<Entry> entries;
  std::map<std::string, int> first_line;
  for (auto& line : lines_of(read_text_file(path))) {
    const int number = line.number;
    if (strip(line.text).empty()) continue;
    if (line.text.front() == '>') {
      entries.push_back(read_header(path, line));
      const auto [found, fresh] = first_line.try_emplace(entries.back().id, number);
      if (!fresh) {
        throw InputError(
            path + ":" + std::to_string(number),
            "chain id '" + found->first + "' is used twice, first in line " + std::to_string(found->second));
      }
    } else if (entries.empty()) {
      throw InputError(path + ":" + std::to_string(number),
                       "text before the first header; expected '>id|type', for example '>A|protein'");
    } else {
      entries.back().sequence.push_back(std::move(line));
    }
  }
  for (const auto& entry : entries) {
    if (entry.sequence.empty()) {
      throw InputError(path + ":" + std::to_string(entry.line), "chain '" + entry.id + "' has an empty sequence");
    }
  }
  return entries;
}

std::string letter_problem(MolType type, char letter) {
  const std::string name(name_of(type));
  if (type == MolType::rna && letter == 'T') return "'T' in RNA; write U, or give the chain as dna";
  if (type == MolType::dna && letter == 'U') return "'U' in DNA; write T, or give the chain as rna";
  if (letter == '*') return "'*' (end of translation) is no residue; remove it";
  if (letter == '-' || letter == '.') return std::string("'") + letter + "' is a gap, not a residue; remove it";
  const std::string shown = std::isprint(static_cast<unsigned char>(letter)) != 0
                                ? std::string("'") + letter + "'"
                                : "byte " + std::to_string(static_cast<int>(static_cast<unsigned char>(letter)));
  return shown + " is no letter of a " + name + " sequence; known are " + std::string(letters_of(type));
}

void read_polymer(const std::string& path, const Entry& entry, Structure& structure, Chain& chain) {
  for (const auto& line : entry.sequence) {
    const size_t end = line.text.find_last_not_of(" \t") + 1;
    for (size_t i = line.text.find_first_not_of(" \t"); i < end; ++i) {
      const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(line.text[i])));
      const auto meaning = component_of_letter(chain.type, letter);
      if (!meaning) {
        throw InputError(at(path, line.number, i + 1),
                         "chain '" + entry.id + "': " + letter_problem(chain.type, letter));
      }
      if (meaning->ambiguous) {
        const std::string warning = "ambiguous letters B, Z and J in protein sequences are read as unknown residues";
        if (std::find(structure.warnings.begin(), structure.warnings.end(), warning) == structure.warnings.end()) {
          structure.warnings.push_back(warning);
        }
      }
      chain.residues.push_back({meaning->component, static_cast<int>(chain.residues.size()) + 1, "", "", {}});
    }
  }
}

void read_component(const std::string& path, const Entry& entry, const ComponentDictionary& components, Chain& chain) {
  const Line& line = entry.sequence.front();
  const std::string code(strip(line.text));
  const std::string where = at(path, line.number, line.text.find(code) + 1);
  if (entry.sequence.size() > 1 || code.find_first_of(" \t") != std::string::npos) {
    throw InputError(where, "chain '" + entry.id + "' of type ccd: expected one component code");
  }
  if (components.find(code) == nullptr) {
    throw InputError(where, "component '" + code + "' is not in " + components.source() +
                                did_you_mean(code, components.codes()) +
                                "; CPIZE_COMPONENTS can name a dictionary that has it");
  }
  chain.residues.push_back({code, 1, "", "", {}});
}

}  // namespace

Structure read_fasta(const std::string& path, const ComponentDictionary& components) {
  Structure structure;
  structure.source = path;
  structure.name = std::filesystem::path(path).stem().string();
  std::map<std::string, std::string> entities;
  for (const auto& entry : read_entries(path)) {
    Chain chain;
    chain.id = chain.author = entry.id;
    chain.type = polymer_type_named(entry.type).value_or(MolType::nonpolymer);
    if (chain.is_polymer()) {
      read_polymer(path, entry, structure, chain);
    } else {
      read_component(path, entry, components, chain);
    }
    std::string content = entry.type;
    for (const auto& residue : chain.residues) content += " " + residue.component;
    chain.entity = entities.try_emplace(content, std::to_string(entities.size() + 1)).first->second;
    structure.chains.push_back(std::move(chain));
  }
  if (structure.chains.empty()) throw InputError(path, "holds no sequence");
  number_entities(structure);
  return structure;
}

}  // namespace cpize::features
