#include "features/components.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "error/error.hpp"
#include "features/components_cif.hpp"
#include "features/text.hpp"

namespace cpize::features {

extern const char* const components_json;  // data/components.json, compiled in (CMakeLists.txt)

namespace {

using Json = nlohmann::json;

template <typename T>
T value_of(const Json& json, const std::string& where, const std::string& expected) {
  try {
    return json.get<T>();
  } catch (const Json::exception&) {
    throw InputError(where, "'" + json.dump().substr(0, 60) + "' is no " + expected);
  }
}

const Json& member(const Json& object, const std::string& key, const std::string& where) {
  if (const auto found = object.find(key); found != object.end()) return *found;
  std::vector<std::string> keys;
  for (const auto& [name, value] : object.items()) keys.push_back(name);
  throw InputError(where, "the key '" + key + "' is missing" + did_you_mean(key, keys));
}

Component component_of_json(const std::string& code, const Json& json, const std::string& where) {
  if (!json.is_object()) throw InputError(where, "is no object");
  static const std::vector<std::string> known = {"name",    "type",        "one_letter", "parent",
                                                 "formula", "coordinates", "atoms",      "bonds"};
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw InputError(where, "unknown key '" + key + "'" + did_you_mean(key, known));
    }
  }
  Component component;
  component.code = code;
  component.type = to_upper(value_of<std::string>(member(json, "type", where), where + ", type", "text"));
  if (json.contains("one_letter"))
    component.one_letter = value_of<std::string>(json["one_letter"], where + ", one_letter", "text");
  if (json.contains("parent")) component.parent = value_of<std::string>(json["parent"], where + ", parent", "text");
  for (const Json& row : member(json, "atoms", where)) {
    const std::string here = where + ", atoms[" + std::to_string(component.atoms.size()) + "]";
    if (!row.is_array() || row.size() != 7) {
      throw InputError(here, "expected [name, element, charge, [x, y, z], leaving, aromatic, stereo]");
    }
    ComponentAtom atom{value_of<std::string>(row[0], here, "atom name"),
                       to_upper(value_of<std::string>(row[1], here, "element")),
                       value_of<int>(row[4], here, "leaving flag (0 or 1)") != 0};
    if (component.find_atom(atom.name) >= 0) throw InputError(here, "atom '" + atom.name + "' is defined twice");
    component.atoms.push_back(std::move(atom));
  }
  for (const Json& row : member(json, "bonds", where)) {
    const std::string here = where + ", bonds[" + std::to_string(component.bonds.size()) + "]";
    if (!row.is_array() || row.size() != 5) throw InputError(here, "expected [atom, atom, order, aromatic, stereo]");
    ComponentBond bond{value_of<int>(row[0], here, "atom index"), value_of<int>(row[1], here, "atom index")};
    const int count = static_cast<int>(component.atoms.size());
    if (bond.first < 0 || bond.first >= count || bond.second < 0 || bond.second >= count || bond.first == bond.second) {
      throw InputError(here, "atoms " + std::to_string(bond.first) + " and " + std::to_string(bond.second) +
                                 " are not two of the component's " + std::to_string(count));
    }
    const auto order = value_of<std::string>(row[2], here, "bond order");
    const auto type = bond_type_of(order, value_of<int>(row[3], here, "aromatic flag (0 or 1)") != 0);
    if (!type) throw InputError(here, "unknown bond order '" + order + "'; known are " + join(bond_orders()));
    bond.type = *type;
    component.bonds.push_back(bond);
  }
  if (component.atoms.empty()) throw InputError(where, "has no atoms");
  return component;
}

}  // namespace

const std::vector<std::string>& bond_orders() {
  static const std::vector<std::string> orders = {"SING", "DOUB", "TRIP", "QUAD", "AROM", "DELO", "PI", "POLY"};
  return orders;
}

std::optional<BondType> bond_type_of(std::string_view order, bool aromatic) {
  const std::string name = to_upper(order);
  const auto& orders = bond_orders();
  if (std::find(orders.begin(), orders.end(), name) == orders.end()) return std::nullopt;
  if (aromatic || name == "AROM" || name == "DELO") return BondType::aromatic;
  if (name == "SING") return BondType::single_bond;
  if (name == "DOUB") return BondType::double_bond;
  return name == "TRIP" ? BondType::triple_bond : BondType::other;
}

int Component::find_atom(const std::string& name) const {
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (atoms[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Component::heavy_atoms() const {
  int count = 0;
  for (const auto& atom : atoms) count += atom.is_hydrogen() ? 0 : 1;
  return count;
}

ComponentDictionary ComponentDictionary::read(const std::string& path) {
  if (to_lower(path).ends_with(".json")) return read_json(read_text_file(path), path);
  ComponentDictionary dictionary;
  dictionary.source_ = path;
  CifFile file = CifFile::read(path);
  for (auto& block : file.document.blocks) add_components_of_block(file, block, dictionary);
  if (dictionary.size() == 0)
    throw InputError(path, "holds no component (expected _chem_comp_atom tables or a JSON object)");
  return dictionary;
}

ComponentDictionary ComponentDictionary::read_json(const std::string& text, const std::string& source) {
  ComponentDictionary dictionary;
  dictionary.source_ = source;
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw InputError(source, std::string("is no valid JSON: ") + error.what());
  }
  if (!json.is_object()) throw InputError(source, "expected one object: component code -> definition");
  for (const auto& [code, definition] : json.items()) {
    dictionary.add(component_of_json(code, definition, source + ", component " + code));
  }
  if (dictionary.size() == 0) throw InputError(source, "holds no component (expected a JSON object)");
  return dictionary;
}

const ComponentDictionary& ComponentDictionary::standard() {
  static const ComponentDictionary dictionary = [] {
    const char* chosen = std::getenv("CPIZE_COMPONENTS");
    return chosen != nullptr && *chosen != '\0' ? read(chosen) : read_json(components_json, "the built-in components");
  }();
  return dictionary;
}

const Component* ComponentDictionary::find(const std::string& code) const {
  const auto found = components_.find(code);
  return found == components_.end() ? nullptr : &found->second;
}

void ComponentDictionary::add(Component component) {
  std::string code = component.code;
  components_[std::move(code)] = std::move(component);
}

std::vector<std::string> ComponentDictionary::codes() const {
  std::vector<std::string> result;
  for (const auto& [code, component] : components_) result.push_back(code);
  return result;
}

}  // namespace cpize::features
