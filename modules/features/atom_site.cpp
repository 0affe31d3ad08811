#include "features/atom_site.hpp"

#include <gemmi/elem.hpp>
#include <map>
#include <set>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

const std::vector<std::string>& known_items() {
  static const std::vector<std::string> items = {"group_PDB",
                                                 "id",
                                                 "type_symbol",
                                                 "label_atom_id",
                                                 "label_alt_id",
                                                 "label_comp_id",
                                                 "label_asym_id",
                                                 "label_entity_id",
                                                 "label_seq_id",
                                                 "pdbx_PDB_ins_code",
                                                 "Cartn_x",
                                                 "Cartn_y",
                                                 "Cartn_z",
                                                 "occupancy",
                                                 "B_iso_or_equiv",
                                                 "Cartn_x_esd",
                                                 "Cartn_y_esd",
                                                 "Cartn_z_esd",
                                                 "occupancy_esd",
                                                 "B_iso_or_equiv_esd",
                                                 "pdbx_formal_charge",
                                                 "auth_seq_id",
                                                 "auth_comp_id",
                                                 "auth_asym_id",
                                                 "auth_atom_id",
                                                 "pdbx_PDB_model_num",
                                                 "calc_flag",
                                                 "pdbx_tls_group_id",
                                                 "pdbx_auth_seq_id",
                                                 "pdbx_auth_asym_id",
                                                 "pdbx_auth_comp_id",
                                                 "pdbx_auth_atom_name",
                                                 "label_model_num",
                                                 "fract_x",
                                                 "fract_y",
                                                 "fract_z"};
  return items;
}

constexpr const char* kUnnamedChain = "A";

struct Columns {
  explicit Columns(const CifTable& t)
      : element(t.require("type_symbol")),
        name(t.require("label_atom_id")),
        component(t.require("label_comp_id")),
        chain(t.require("label_asym_id")),
        xyz{t.require("Cartn_x"), t.require("Cartn_y"), t.require("Cartn_z")},
        group(t.optional("group_PDB", known_items())),
        alt(t.optional("label_alt_id", known_items())),
        entity(t.optional("label_entity_id", known_items())),
        position(t.optional("label_seq_id", known_items())),
        insertion(t.optional("pdbx_PDB_ins_code", known_items())),
        occupancy(t.optional("occupancy", known_items())),
        b_factor(t.optional("B_iso_or_equiv", known_items())),
        author_number(t.optional("auth_seq_id", known_items())),
        author_chain(t.optional("auth_asym_id", known_items())),
        model(t.optional("pdbx_PDB_model_num", known_items())) {}

  int element, name, component, chain, xyz[3];
  int group, alt, entity, position, insertion, occupancy, b_factor, author_number, author_chain, model;
};

// One warning for a default, however many atoms it concerns.
class Defaults {
 public:
  void used(const std::string& item, const std::string& value) { ++counts_[item + ": " + value]; }
  void report(size_t atoms, std::vector<std::string>& warnings) const {
    for (const auto& [what, count] : counts_) {
      const std::string share = count == static_cast<int>(atoms) ? "all" : std::to_string(count) + " of";
      warnings.push_back("no _atom_site." + what + " (" + share + " " + std::to_string(atoms) + " atoms)");
    }
  }

 private:
  std::map<std::string, int> counts_;
};

SiteAtom read_row(const CifTable& table, const Columns& c, int row, Defaults& defaults) {
  SiteAtom site;
  site.row = row;
  site.atom.name = table.required_text(row, c.name);
  site.atom.element = to_upper(table.required_text(row, c.element));
  if (site.atom.element != "X" && gemmi::Element(site.atom.element).ordinal() == 0) {
    throw InputError(table.where(row, c.element), "'" + site.atom.element + "' is no element");
  }
  for (size_t i = 0; i < 3; ++i) site.atom.position[i] = table.number(row, c.xyz[i]);
  site.component = table.required_text(row, c.component);
  site.author_chain = table.text(row, c.author_chain);
  site.chain = table.text(row, c.chain);
  if (site.chain.empty()) {
    site.chain = site.author_chain.empty() ? kUnnamedChain : site.author_chain;
    defaults.used("label_asym_id", "auth_asym_id, or '" + std::string(kUnnamedChain) + "', is used");
  }
  site.entity = table.text(row, c.entity);
  site.atom.alt_id = table.text(row, c.alt);
  site.insertion_code = table.text(row, c.insertion);
  site.hetero = table.text(row, c.group) == "HETATM";
  if (!table.is_null(row, c.position)) {
    site.position = table.integer(row, c.position);
    if (site.position < 1) {
      throw InputError(table.where(row, c.position),
                       std::to_string(site.position) + " is no place in a sequence; it counts from 1");
    }
  }
  if (table.is_null(row, c.occupancy)) {
    defaults.used("occupancy", "1 is used");
  } else {
    site.atom.occupancy = table.number(row, c.occupancy);
    if (site.atom.occupancy < 0) {
      throw InputError(table.where(row, c.occupancy),
                       "'" + table.text(row, c.occupancy) + "' is negative; expected 0 to 1");
    }
  }
  if (table.is_null(row, c.b_factor)) {
    defaults.used("B_iso_or_equiv", "0 is used");
  } else {
    site.atom.b_factor = table.number(row, c.b_factor);
  }
  if (site.author_chain.empty()) {
    defaults.used("auth_asym_id", "label_asym_id is used");
    site.author_chain = site.chain;
  }
  site.author_number = table.text(row, c.author_number);
  if (site.author_number.empty()) {
    defaults.used("auth_seq_id", "label_seq_id is used");
    if (site.position > 0) site.author_number = std::to_string(site.position);
  }
  return site;
}

// A chain named by default must not run into one that has that name of its own.
void check_default_names(const std::vector<SiteAtom>& sites, const CifTable& table, int chain_column) {
  std::map<std::string, int> named;  // 1: given by the file, 2: by default
  for (const auto& site : sites) {
    const int kind = table.is_null(site.row, chain_column) ? 2 : 1;
    if (const auto found = named.try_emplace(site.chain, kind).first; found->second != kind) {
      throw InputError(table.where(site.row, chain_column),
                       "atoms without a chain id would join chain '" + site.chain +
                           "', which has that id; give every atom its label_asym_id");
    }
  }
}

// Sum and count of occupancies, for the rule "highest mean, first of equals".
struct Mean {
  double sum = 0;
  int count = 0;
  double value() const { return sum / count; }
};

}  // namespace

std::vector<SiteAtom> read_atom_site(const CifTable& table, std::vector<std::string>& warnings) {
  if (!table.exists())
    throw InputError(table.where(), "has no _atom_site table: no atoms to read; is this a coordinate file?");
  if (table.rows() == 0) throw InputError(table.where(), "has no rows: no atoms were read");
  const Columns columns(table);
  std::vector<SiteAtom> sites;
  Defaults defaults;
  if (columns.model < 0) warnings.push_back("no _atom_site.pdbx_PDB_model_num: all atoms are taken as one model");
  const std::string first_model = columns.model < 0 ? "" : table.required_text(0, columns.model);
  std::set<std::string> models{first_model};
  for (int row = 0; row < table.rows(); ++row) {
    if (columns.model >= 0) {
      const std::string model = table.required_text(row, columns.model);
      models.insert(model);
      if (model != first_model) continue;
    }
    sites.push_back(read_row(table, columns, row, defaults));
  }
  check_default_names(sites, table, columns.chain);
  if (models.size() > 1) {
    warnings.push_back("the file has " + std::to_string(models.size()) + " models; the first (" + first_model +
                       ") is read");
  }
  defaults.report(sites.size(), warnings);
  return sites;
}

std::vector<Atom> resolve_alternates(const std::vector<const SiteAtom*>& sites, const CifTable& table) {
  std::map<std::string, Mean> means;
  std::vector<std::string> order;  // alternate ids as they first appear
  std::set<std::pair<std::string, std::string>> seen;
  for (const SiteAtom* site : sites) {
    const std::string& alt = site->atom.alt_id;
    if (!seen.insert({site->atom.name, alt}).second) {
      throw InputError(table.where(site->row, table.find("label_atom_id")),
                       "atom '" + site->atom.name + "' of " + site->component + " " + site->author_number +
                           site->insertion_code + " in chain " + site->chain +
                           " is there twice; give alternatives different label_alt_id");
    }
    if (alt.empty()) continue;
    if (means.find(alt) == means.end()) order.push_back(alt);
    means[alt].sum += site->atom.occupancy;
    ++means[alt].count;
  }
  std::string chosen;
  for (const auto& alt : order) {
    if (chosen.empty() || means[alt].value() > means[chosen].value()) chosen = alt;
  }
  std::vector<Atom> atoms;
  std::map<std::string, size_t> place;
  const auto rank = [&](const Atom& atom) { return atom.alt_id.empty() ? 2 : atom.alt_id == chosen ? 1 : 0; };
  for (const SiteAtom* site : sites) {
    const auto [found, fresh] = place.try_emplace(site->atom.name, atoms.size());
    if (fresh) {
      atoms.push_back(site->atom);
      continue;
    }
    Atom& held = atoms[found->second];
    const int mine = rank(site->atom), other = rank(held);
    if (mine > other || (mine == other && site->atom.occupancy > held.occupancy)) held = site->atom;
  }
  return atoms;
}

}  // namespace cpize::features
