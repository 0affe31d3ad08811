// The component dictionary: the committed JSON, mmCIF dictionaries, strictness.
#include "features/components.hpp"

#include <gtest/gtest.h>

#include "features/residue_types.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

TEST(Components, CommittedDictionary) {
  const auto& dictionary = ComponentDictionary::standard();
  EXPECT_EQ(dictionary.size(), 155U);
  const Component* nag = dictionary.find("NAG");
  ASSERT_NE(nag, nullptr);
  EXPECT_EQ(nag->heavy_atoms(), 15);
  EXPECT_TRUE(nag->atoms[static_cast<size_t>(nag->find_atom("O1"))].leaving);
  EXPECT_FALSE(nag->atoms[static_cast<size_t>(nag->find_atom("O4"))].leaving);
  EXPECT_EQ(dictionary.find("nag"), nullptr);
  EXPECT_EQ(dictionary.find("NA")->atoms.at(0).element, "NA");
}

TEST(Components, EveryStandardResidueHasItsCentreAndDistogramAtom) {
  for (int id = 2; id < kResidueTypes; ++id) {
    const std::string name(kResidueTypeNames[static_cast<size_t>(id)]);
    const Component* component = ComponentDictionary::standard().find(name);
    ASSERT_NE(component, nullptr) << name;
    EXPECT_GE(component->find_atom(std::string(centre_atom(id))), 0) << name;
    if (name != "UNK") {
      EXPECT_GE(component->find_atom(std::string(distogram_atom(id))), 0) << name;
    }
    EXPECT_EQ(residue_type_of(name), id);
    EXPECT_TRUE(mol_type_of_standard(name).has_value());
    if (name != "UNK") {
      EXPECT_EQ(mol_type_of_component_type(component->type), mol_type_of_standard(name)) << name;
    }
  }
}

TEST(Components, MmcifDictionary) {
  const TemporaryFile file(
      "c.cif",
      "data_ZZ1\n_chem_comp.id ZZ1\n_chem_comp.type "
      "NON-POLYMER\nloop_\n_chem_comp_atom.comp_id\n_chem_comp_atom.atom_id\n"
      "_chem_comp_atom.type_symbol\n_chem_comp_atom.pdbx_leaving_atom_flag\nZZ1 C1 C N\nZZ1 O1 O Y\n"
      "loop_\n_chem_comp_bond.comp_id\n_chem_comp_bond.atom_id_1\n_chem_comp_bond.atom_id_2\nZZ1 C1 O1\n"
      "data_ZZ2\nloop_\n_chem_comp_atom.comp_id\n_chem_comp_atom.atom_id\n_chem_comp_atom.type_symbol\nZZ2 ZN Zn\n");
  const auto dictionary = ComponentDictionary::read(file.path());
  EXPECT_EQ(dictionary.size(), 2U);
  ASSERT_NE(dictionary.find("ZZ1"), nullptr);
  EXPECT_TRUE(dictionary.find("ZZ1")->atoms[1].leaving);
  EXPECT_EQ(dictionary.find("ZZ1")->bonds.size(), 1U);
  EXPECT_EQ(dictionary.find("ZZ1")->type, "NON-POLYMER");
  EXPECT_EQ(dictionary.find("ZZ2")->atoms.at(0).element, "ZN");
}

TEST(Components, BadDictionaries) {
  const auto error_of = [](const std::string& name, const std::string& text) {
    const TemporaryFile file(name, text);
    return input_error([&] { ComponentDictionary::read(file.path()); });
  };
  expect_parts(error_of("c.json", "{"), {"no valid JSON"});
  expect_parts(error_of("c.json", "[]"), {"expected one object"});
  expect_parts(error_of("c.json", "{}"), {"holds no component"});
  expect_parts(error_of("c.cif", "data_x\n_cell.a 1\n"), {"holds no component"});
  expect_parts(error_of("c.json", R"({"A":{"type":"x","atom":[],"bonds":[]}})"),
               {"component A", "unknown key 'atom'", "'atoms'"});
  expect_parts(error_of("c.json", R"({"A":{"type":"x","bonds":[]}})"), {"component A", "'atoms' is missing"});
  expect_parts(
      error_of("c.json", R"({"A":{"type":"x","atoms":[["C","C",0,[0,0,0],0,0,"N"]],"bonds":[[0,1,"SING",0,"N"]]}})"),
      {"component A, bonds[0]", "0 and 1"});
  expect_parts(error_of("c.json", R"({"A":{"type":"x","atoms":[["C","C",0]],"bonds":[]}})"),
               {"atoms[0]", "expected [name"});
}

}  // namespace
}  // namespace cpize::features
