// Token features of real structures: names, shapes, dtypes and values; strictness of check_features.
#include "features/token_features.hpp"

#include <gtest/gtest.h>

#include "features/read_fasta.hpp"
#include "features/read_structure.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

Features features_of(const std::string& path, bool coordinates = false) {
  const Structure s = read_structure(path);
  return token_features(s, tokenise(s), coordinates);
}

std::vector<int64_t> integers(const at::Tensor& tensor) {
  return std::vector<int64_t>(tensor.data_ptr<int64_t>(), tensor.data_ptr<int64_t>() + tensor.numel());
}

TEST(TokenFeatures, Lysozyme) {
  const Features f = features_of(data_file("1aki.cif"));
  EXPECT_EQ(check_features(f), 129);
  EXPECT_EQ(f.size(), kFeatureSpecs.size() - 2 - 5);  // no coordinates, no alignment
  EXPECT_EQ(integers(f.at("res_type").argmax(1).slice(0, 0, 5)),
            (std::vector<int64_t>{13, 21, 15, 9, 3}));  // K V F G R
  EXPECT_TRUE(at::equal(f.at("res_type").sum(1), at::ones({129}, at::kLong)));
  EXPECT_TRUE(at::equal(f.at("profile"), f.at("res_type").to(at::kFloat)));
  EXPECT_TRUE(at::equal(f.at("token_index"), at::arange(129)));
  EXPECT_TRUE(at::equal(f.at("residue_index"), at::arange(129)));
  EXPECT_EQ(f.at("token_pad_mask").sum().item<float>(), 129);
  EXPECT_EQ(f.at("token_resolved_mask").sum().item<float>(), 129);
  EXPECT_EQ(f.at("token_bonds").sum().item<float>(), 0);
  EXPECT_TRUE(at::equal(f.at("method_feature"), at::ones({129}, at::kLong)));
  EXPECT_TRUE(f.at("contact_conditioning").select(2, 0).eq(1).all().item<bool>());
  EXPECT_EQ(f.at("contact_conditioning").sum().item<int64_t>(), 129 * 129);
  for (const char* zero : {"asym_id", "entity_id", "sym_id", "mol_type", "cyclic_period", "deletion_mean", "modified",
                           "type_bonds", "contact_threshold"}) {
    EXPECT_TRUE(at::equal(f.at(zero), at::zeros_like(f.at(zero)))) << zero;
  }
}

TEST(TokenFeatures, NumberingCase) {  // K16
  const Features f = features_of(case_file("k16_numbering.cif"), true);
  EXPECT_EQ(integers(f.at("residue_index")), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(integers(f.at("res_type").argmax(1)), (std::vector<int64_t>{9, 2, 2, 21, 9, 19, 2}));
  const auto resolved = at::tensor({1.F, 1.F, 1.F, 1.F, 1.F, 0.F, 1.F});
  EXPECT_TRUE(at::equal(f.at("token_resolved_mask"), resolved));
  EXPECT_TRUE(at::equal(f.at("token_disto_mask"), resolved));
  EXPECT_EQ(f.at("token_pad_mask").sum().item<float>(), 7);
  const auto centre = f.at("disto_center").accessor<float, 2>();
  EXPECT_FLOAT_EQ(centre[0][0], 1.460F);  // CA of glycine
  EXPECT_FLOAT_EQ(centre[1][0], 5.790F);  // CB of alanine
  EXPECT_FLOAT_EQ(centre[1][2], -1.200F);
  EXPECT_FLOAT_EQ(centre[5][0], 0.F);
}

TEST(TokenFeatures, MixedComplex) {
  const Features f = features_of(data_file("5ugo.cif"), true);
  EXPECT_EQ(check_features(f), 378);
  const auto mol = f.at("mol_type"), asym = f.at("asym_id"), entity = f.at("entity_id"), sym = f.at("sym_id");
  EXPECT_EQ((mol == 1).sum().item<int64_t>(), 32);
  EXPECT_EQ((mol == 0).sum().item<int64_t>(), 335);
  EXPECT_EQ((mol == 3).sum().item<int64_t>(), 11);
  const std::vector<int64_t> sizes = {16, 11, 5, 335, 9, 1, 1};
  for (int64_t c = 0; c < 7; ++c) EXPECT_EQ((asym == c).sum().item<int64_t>(), sizes[static_cast<size_t>(c)]) << c;
  EXPECT_TRUE(at::equal(asym, std::get<0>(asym.sort())));
  EXPECT_EQ(entity[376].item<int64_t>(), 5);
  EXPECT_EQ(entity[377].item<int64_t>(), 5);
  EXPECT_EQ(sym[376].item<int64_t>(), 0);
  EXPECT_EQ(sym[377].item<int64_t>(), 1);
  EXPECT_EQ(f.at("token_resolved_mask").sum().item<float>(), 369);
  EXPECT_EQ(f.at("token_resolved_mask").slice(0, 32, 41).sum().item<float>(), 0);  // protein residues 1 to 9
  EXPECT_EQ(f.at("token_bonds").sum().item<float>(), 16);
  EXPECT_TRUE(at::equal(f.at("token_bonds"), f.at("token_bonds").transpose(0, 1)));
  EXPECT_EQ(f.at("token_bonds").squeeze(-1).diagonal().sum().item<float>(), 0);
  EXPECT_EQ(integers(f.at("res_type").argmax(1).slice(0, 0, 4)), (std::vector<int64_t>{30, 30, 29, 28}));  // C C G A
  EXPECT_EQ(integers(f.at("residue_index").slice(0, 367, 378)), std::vector<int64_t>(11, 0));
}

TEST(TokenFeatures, BondTypes) {
  // 5ugo: imidodiphosphoric acid, in its definition 2 double bonds and 6 single ones between heavy atoms
  const Features f = features_of(data_file("5ugo.cif"));
  const at::Tensor types = f.at("type_bonds");
  EXPECT_TRUE(at::equal(types.ne(0), f.at("token_bonds").squeeze(-1).ne(0)));
  EXPECT_TRUE(at::equal(types, types.t()));
  EXPECT_EQ((types == 1 + 1).sum().item<int64_t>(), 2 * 6);
  EXPECT_EQ((types == 1 + 2).sum().item<int64_t>(), 2 * 2);
  // 5i55: selenomethionine bound to the next residue; acetate and MPD: one double bond each in MSE and ACT
  const Structure s = read_structure(case_file("5i55.cif"));
  const Features g = token_features(s, tokenise(s));
  EXPECT_EQ((g.at("type_bonds") == 1 + 5).sum().item<int64_t>(), 2);
  EXPECT_EQ((g.at("type_bonds") == 1 + 2).sum().item<int64_t>(), 2 * 2);
  EXPECT_EQ((g.at("type_bonds") == 1 + 1).sum().item<int64_t>(), 2 * (6 + 7 + 2));
  EXPECT_EQ(g.at("modified").sum().item<int64_t>(), 8);
  EXPECT_TRUE(g.at("modified").slice(0, 0, 8).eq(1).all().item<bool>());
  // phenyl: six aromatic bonds, whatever their orders
  const TemporaryFile file("x.fasta", ">A|ccd\nATP\n");
  const Structure atp = read_fasta(file.path());
  const Features h = token_features(atp, tokenise(atp));
  EXPECT_EQ((h.at("type_bonds") == 1 + 4).sum().item<int64_t>(), 2 * 10);  // adenine's two rings
}

TEST(TokenFeatures, Methods) {
  const auto method_of = [](const Structure& s) {
    return token_features(s, tokenise(s)).at("method_feature")[0].item<int64_t>();
  };
  EXPECT_EQ(method_of(read_structure(data_file("1l2y.cif"))), 3);
  EXPECT_EQ(method_of(read_structure(case_file("k16_numbering.cif"))), 1);  // says nothing: X-ray
  const std::string text = slurp(data_file("1aki.cif"));
  for (const auto& [name, id] : {std::pair<std::string, int64_t>{"ELECTRON MICROSCOPY", 2},
                                 {"neutron diffraction", 4},
                                 {"SOLID-STATE NMR", 4},
                                 {"AFDB", 5}}) {
    const TemporaryFile file("x.cif", replaced(text, "'X-RAY DIFFRACTION'", "'" + name + "'"));
    EXPECT_EQ(method_of(read_structure(file.path())), id) << name;
  }
  const TemporaryFile file("x.cif", replaced(text, "'X-RAY DIFFRACTION'", "'GUESSWORK'"));
  const Structure guessed = read_structure(file.path());
  EXPECT_EQ(method_of(guessed), 4);
  EXPECT_TRUE(any_contains(guessed.warnings, "'GUESSWORK'"));
}

TEST(TokenFeatures, CyclicChains) {
  const TemporaryFile file("x.fasta", ">A|protein\nGACKL\n>B|protein\nGA\n>L|ccd\nMG\n");
  Structure s = read_fasta(file.path());
  close_chain(s, "A");
  const Features f = token_features(s, tokenise(s));
  EXPECT_EQ(integers(f.at("cyclic_period")), (std::vector<int64_t>{5, 5, 5, 5, 5, 0, 0, 0}));
  expect_parts(input_error([&] { close_chain(s, "B"); }), {"chain 'B'", "protein of 2 residue(s)"});
  expect_parts(input_error([&] { close_chain(s, "L"); }), {"chain 'L'", "nonpolymer"});
  expect_parts(input_error([&] { close_chain(s, "a"); }), {"no chain 'a'", "did you mean 'A'"});
}

TEST(TokenFeatures, Fasta) {
  const TemporaryFile file("x.fasta", ">A|protein\nGA\n>B|rna\nGA\n>C|protein\nGA\n");
  const Structure s = read_fasta(file.path());
  const Features f = token_features(s, tokenise(s));
  EXPECT_EQ(check_features(f), 6);
  EXPECT_EQ(integers(f.at("asym_id")), (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(integers(f.at("entity_id")), (std::vector<int64_t>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(integers(f.at("sym_id")), (std::vector<int64_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(integers(f.at("mol_type")), (std::vector<int64_t>{0, 0, 2, 2, 0, 0}));
  EXPECT_EQ(integers(f.at("res_type").argmax(1)), (std::vector<int64_t>{9, 2, 24, 23, 9, 2}));
  EXPECT_EQ(f.at("token_resolved_mask").sum().item<float>(), 0);
}

std::string contract_error(const Features& features, bool batched = false) {
  try {
    check_features(features, batched);
  } catch (const ContractError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ContractError";
  return "";
}

TEST(TokenFeatures, CheckIsStrict) {
  const Features good = features_of(case_file("k16_numbering.cif"));
  const auto with = [&](const std::string& name, const at::Tensor& tensor) {
    Features changed = good;
    changed[name] = tensor;
    return contract_error(changed);
  };
  expect_parts(with("res_typ", good.at("res_type")), {"'res_typ'", "did you mean 'res_type'"});
  expect_parts(with("asym_id", good.at("asym_id").to(at::kInt)), {"asym_id", "Int", "expected int64"});
  expect_parts(with("asym_id", at::zeros({8}, at::kLong)), {"7"});
  expect_parts(with("profile", at::zeros({7, 32})), {"profile", "[7, 32]", "33"});
  expect_parts(with("token_bonds", at::zeros({7, 7})), {"token_bonds", "[N, N, 1]"});
  expect_parts(with("token_bonds", at::zeros({7, 6, 1})), {"token_bonds", "[7, 6, 1]", "7"});
  expect_parts(with("token_pad_mask", at::full({7}, 0.5F)), {"token_pad_mask", "0 and 1"});
  expect_parts(with("profile", at::Tensor()), {"profile", "undefined"});
  Features missing = good;
  missing.erase("sym_id");
  expect_parts(contract_error(missing), {"'sym_id' is absent"});
  contract_error(good, true);
}

}  // namespace
}  // namespace cpize::features
