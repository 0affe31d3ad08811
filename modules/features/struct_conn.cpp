#include "features/struct_conn.hpp"

#include <algorithm>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

bool is_covalent(const std::string& type, const std::string& where) {
  static const std::vector<std::string> known = {"covale", "covale_base", "covale_phosphate", "covale_sugar", "disulf",
                                                 "hydrog", "metalc",      "mismat",           "modres",       "saltbr"};
  const std::string name = to_lower(type);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw InputError(where, "unknown connection type '" + type + "'" + did_you_mean(type, known));
  }
  return name.starts_with("covale");
}

struct EndColumns {
  EndColumns(const CifTable& t, const std::string& n)
      : chain(t.require("ptnr" + n + "_label_asym_id")),
        component(t.require("ptnr" + n + "_label_comp_id")),
        position(t.require("ptnr" + n + "_label_seq_id")),
        atom(t.require("ptnr" + n + "_label_atom_id")),
        author_number(t.find("ptnr" + n + "_auth_seq_id")),
        insertion(t.find("pdbx_ptnr" + n + "_PDB_ins_code")),
        symmetry(t.find("ptnr" + n + "_symmetry")) {}
  int chain, component, position, atom, author_number, insertion, symmetry;
};

enum class Found { yes, dropped, alternate };

// The residues of `candidates` that the row names.
std::vector<LinkEnd> matching_residues(const CifTable& table, const EndColumns& c, int row,
                                       const std::vector<int>& candidates, const Structure& structure) {
  const std::string component = table.required_text(row, c.component), number = table.text(row, c.author_number);
  const int position = table.is_null(row, c.position) ? 0 : table.integer(row, c.position);
  std::vector<LinkEnd> matches;
  for (const int chain_index : candidates) {
    const Chain& chain = structure.chains[static_cast<size_t>(chain_index)];
    for (size_t r = 0; r < chain.residues.size(); ++r) {
      const Residue& residue = chain.residues[r];
      const bool here = chain.is_polymer() && position > 0
                            ? residue.position == position
                            : residue.component == component && (number.empty() || residue.author_number == number) &&
                                  (c.insertion < 0 || residue.insertion_code == table.text(row, c.insertion));
      if (here) matches.push_back({chain_index, static_cast<int>(r), table.required_text(row, c.atom)});
    }
  }
  return matches;
}

Found resolve(const CifTable& table, const EndColumns& c, int row, const ChainIndex& index, const Structure& structure,
              LinkEnd& end) {
  const std::string chain = table.required_text(row, c.chain), component = table.required_text(row, c.component);
  if (is_water(component)) return Found::dropped;
  const auto found = index.chains.find(chain);
  if (found == index.chains.end()) {
    std::vector<std::string> names;
    for (const auto& [name, list] : index.chains) names.push_back(name);
    throw InputError(table.where(row, c.chain), "there is no chain '" + chain + "'; chains: " + join(names));
  }
  if (found->second.empty()) return Found::dropped;
  const auto matches = matching_residues(table, c, row, found->second, structure);
  const std::string name =
      component + " " + table.text(row, c.position) + " (author number " + table.text(row, c.author_number) + ")";
  if (matches.empty()) throw InputError(table.where(row, c.component), "chain " + chain + " has no residue " + name);
  if (matches.size() > 1) {
    throw InputError(table.where(row, c.component), "chain " + chain + " has " + std::to_string(matches.size()) +
                                                        " residues " + name + "; give the author number");
  }
  end = matches.front();
  const Residue& residue = structure.chains[static_cast<size_t>(end.chain)].residues[static_cast<size_t>(end.residue)];
  if (residue.component == component) return Found::yes;
  if (const auto entity = index.entity.find(end.chain);
      entity != index.entity.end() && !entity->second->sequence.empty()) {
    const auto& allowed = entity->second->sequence[static_cast<size_t>(residue.position - 1)];
    if (std::find(allowed.begin(), allowed.end(), component) != allowed.end()) return Found::alternate;
  }
  throw InputError(table.where(row, c.component), "'" + component + "' is not what chain " + chain +
                                                      " has at position " + std::to_string(residue.position) + ": " +
                                                      residue.component);
}

}  // namespace

void read_links(const CifTable& table, const ChainIndex& index, Structure& structure) {
  if (!table.exists()) return;  // a structure without connections has no such table
  const int type = table.require("conn_type_id"), id = table.find("id");
  const EndColumns columns[2] = {EndColumns(table, "1"), EndColumns(table, "2")};
  int symmetry_links = 0, alternate_links = 0;
  for (int row = 0; row < table.rows(); ++row) {
    if (!is_covalent(table.required_text(row, type), table.where(row, type))) continue;
    if (table.text(row, columns[0].symmetry) != table.text(row, columns[1].symmetry)) {
      ++symmetry_links;
      continue;
    }
    Link link;
    link.id = table.text(row, id);
    const Found first = resolve(table, columns[0], row, index, structure, link.first);
    const Found second = resolve(table, columns[1], row, index, structure, link.second);
    if (first == Found::dropped || second == Found::dropped) continue;
    if (first == Found::alternate || second == Found::alternate) {
      ++alternate_links;
      continue;
    }
    structure.links.push_back(std::move(link));
  }
  if (symmetry_links > 0) {
    structure.warnings.push_back(std::to_string(symmetry_links) + " covalent links to symmetry copies are left out");
  }
  if (alternate_links > 0) {
    structure.warnings.push_back(std::to_string(alternate_links) +
                                 " covalent links of alternative components (microheterogeneity) are left out");
  }
}

}  // namespace cpize::features
