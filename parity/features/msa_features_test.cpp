// MSA features of real complexes. Expected figures were counted in the files with a script of our tests' own.
#include "features/msa_features.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "error/error.hpp"
#include "features/padding.hpp"
#include "features/read_fasta.hpp"
#include "features/read_structure.hpp"
#include "parity/end_to_end/haemoglobin_features.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

Structure fasta(const std::string& text) {
  const TemporaryFile file("x.fasta", text);
  return read_fasta(file.path());
}

Features features_of(const Structure& structure, const ChainAlignments& alignments, const MsaLimits& limits = {}) {
  const TokenisedStructure tokens = tokenise(structure);
  Features features = token_features(structure, tokens);
  add_msa_features(features, structure, tokens, alignments, limits);
  check_features(features);
  return features;
}

Features features_of(const Structure& structure, const AlignmentFiles& files, const MsaLimits& limits = {}) {
  return features_of(structure, read_alignments(structure, files), limits);
}

const std::string kDeep = data_file("1a00_A_uniref90.a3m");

/// The haemoglobin chain, `copies` times, as text of a FASTA file.
std::string haemoglobin(int copies) {
  const std::string text = slurp(data_file("1a00_A.fasta"));
  std::string all;
  for (int i = 0; i < copies; ++i) all += replaced(text, ">A", ">" + std::string(1, static_cast<char>('A' + i)));
  return all;
}

int64_t integer(const at::Tensor& x) { return x.item<int64_t>(); }
double number(const at::Tensor& x) { return x.item<double>(); }

/// What every MSA must obey, whatever the input.
void expect_consistent(const Features& f) {
  const auto msa = f.at("msa"), paired = f.at("msa_paired"), has = f.at("has_deletion"), value = f.at("deletion_value");
  EXPECT_TRUE(at::equal(msa[0], f.at("res_type").argmax(1)));
  EXPECT_TRUE(paired[0].eq(1).all().item<bool>());
  EXPECT_TRUE(has[0].eq(0).all().item<bool>());
  EXPECT_TRUE(f.at("msa_mask").eq(1).all().item<bool>());
  EXPECT_TRUE(at::equal(has.ne(0), value.ne(0)));
  EXPECT_TRUE(has.eq(0).logical_or(has.eq(1)).all().item<bool>());
  EXPECT_TRUE(at::allclose(f.at("deletion_mean"), value.to(at::kDouble).mean(0).to(at::kFloat), 1e-5, 1e-7));
  const at::Tensor one_hot = at::one_hot(msa, kResidueTypes);
  EXPECT_TRUE(at::allclose(f.at("profile"), one_hot.to(at::kDouble).mean(0).to(at::kFloat), 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(f.at("profile").sum(1), at::ones({msa.size(1)})));
}

TEST(MsaFeatures, HaemoglobinAlphaAlone) {
  const Features f = features_of(fasta(haemoglobin(1)), {.of_entity = {{"1", kDeep}}, .of_chain = {}});
  EXPECT_EQ(f.at("msa").sizes(), (std::vector<int64_t>{3348, 141}));
  EXPECT_EQ(msa_depth(f), 3348);
  expect_consistent(f);
  EXPECT_EQ(number(f.at("has_deletion").sum()), 4103);
  EXPECT_EQ(number(f.at("msa_paired").sum()), 141);
  const double rows = 3348;
  // column 59 of the alignment: G 2865, A 266, gap 154, S 17
  EXPECT_NEAR(number(f.at("profile")[58][9]), 2865 / rows, 1e-6);
  EXPECT_NEAR(number(f.at("profile")[58][2]), 266 / rows, 1e-6);
  EXPECT_NEAR(number(f.at("profile")[58][kGap]), 154 / rows, 1e-6);
  EXPECT_NEAR(number(f.at("deletion_mean")[58]), 0.0004834265634166584, 1e-9);
  EXPECT_NEAR(number(f.at("deletion_mean")[100]), 0.006062410909958631, 1e-8);
  EXPECT_EQ(number(f.at("has_deletion").select(1, 100).sum()), 21);
  EXPECT_EQ(number(f.at("has_deletion")[6].sum()), 1);
  // one deleted letter: pi/2 atan(1/3)
  EXPECT_NEAR(number(f.at("deletion_value")[6][46]), std::numbers::pi / 2 * std::atan(1.0 / 3), 1e-6);
}

TEST(MsaFeatures, CutToADepth) {
  const Features f = features_of(fasta(haemoglobin(1)), {.of_entity = {{"1", kDeep}}, .of_chain = {}}, {.rows = 50});
  EXPECT_EQ(msa_depth(f), 50);
  expect_consistent(f);
  EXPECT_EQ(number(f.at("has_deletion").sum()), 26);
  EXPECT_EQ(number(f.at("profile")[58][9]), 1);  // statistics are those of the rows that are kept
}

TEST(MsaFeatures, HaemoglobinAlphaAsTwoCopies) {
  const Structure two = fasta(haemoglobin(2));
  const Features f = features_of(two, {.of_entity = {{"1", kDeep}}, .of_chain = {}});
  EXPECT_EQ(f.at("msa").sizes(), (std::vector<int64_t>{3348, 282}));
  expect_consistent(f);
  for (const char* name : {"msa", "has_deletion", "deletion_value", "msa_paired"})
    EXPECT_TRUE(at::equal(f.at(name).slice(1, 0, 141), f.at(name).slice(1, 141, 282))) << name;
  EXPECT_EQ(number(f.at("msa_paired").sum()), 282);  // no keys were asked for
}

TEST(MsaFeatures, TwoCopiesPairedByTaxonomy) {
  AlignmentFiles files{.of_entity = {{"1", kDeep}}, .of_chain = {}, .keys = A3mKeys::uniref_headers};
  const Features f = features_of(fasta(haemoglobin(2)), files);
  EXPECT_EQ(msa_depth(f), 3348);  // each row once: 3335 with a species, 12 without
  expect_consistent(f);
  EXPECT_EQ(number(f.at("msa_paired").select(1, 0).sum()), 1 + 3335);
  EXPECT_EQ(number(f.at("msa_paired").slice(0, 3336).sum()), 0);
  EXPECT_EQ(number(f.at("has_deletion").sum()), 2 * 4103);
  // one chain has nobody to pair with
  const Features one = features_of(fasta(haemoglobin(1)), files);
  EXPECT_EQ(number(one.at("msa_paired").sum()), 141);
}

TEST(MsaFeatures, BesideAChainWithoutAlignmentAndALigand) {
  const Structure s = fasta(haemoglobin(1) + ">X|protein\nGACKL\n>L|ccd\nGOL\n");
  const Features f = features_of(s, {.of_entity = {}, .of_chain = {{"A", kDeep}, {"X", "empty"}}});
  EXPECT_EQ(f.at("msa").sizes(), (std::vector<int64_t>{3348, 141 + 5 + 6}));
  expect_consistent(f);
  const at::Tensor others = f.at("msa").slice(1, 141);
  EXPECT_TRUE(at::equal(others[0], at::tensor({9, 2, 6, 13, 12, 22, 22, 22, 22, 22, 22}, at::kLong)));
  EXPECT_TRUE(others.slice(0, 1).eq(kGap).all().item<bool>());
  EXPECT_EQ(number(f.at("has_deletion").sum()), 4103);
  EXPECT_EQ(number(f.at("has_deletion").slice(1, 141).sum()), 0);
  EXPECT_NEAR(number(f.at("profile")[141][kGap]), 3347.0 / 3348, 1e-6);
  const Features alone = features_of(fasta(haemoglobin(1)), {.of_entity = {{"1", kDeep}}, .of_chain = {}});
  EXPECT_TRUE(at::equal(f.at("msa").slice(1, 0, 141), alone.at("msa")));
}

/// A CSV file of an a3m file's rows; `key` of row i.
std::string csv_of(const std::string& a3m, const std::function<std::string(int)>& key) {
  std::istringstream lines(slurp(a3m));
  std::string text = "key,sequence\n", line;
  for (int row = 0; std::getline(lines, line);) {
    if (!line.starts_with('>')) text += key(row++) + "," + line + "\n";
  }
  return text;
}

/// Sequence row `i` of an a3m file without its insertions.
std::string columns_of(const std::string& a3m, int i) {
  std::istringstream lines(slurp(a3m));
  std::string line;
  for (int row = -1; row < i;) {
    std::getline(lines, line);
    if (!line.starts_with('>')) ++row;
  }
  std::erase_if(line, [](unsigned char c) { return std::islower(c) != 0; });
  return line;
}

TEST(MsaFeatures, TwoChainsPairedByKeyThroughCsv) {
  const std::string one = data_file("seq1.a3m"), two = data_file("seq2.a3m");
  const Structure s = fasta(">A|protein\n" + columns_of(one, 0) + "\n>B|protein\n" + columns_of(two, 0) + "\n");
  // rows 1 to 60 of one, 1 to 45 of the other have keys; shared are 2, 4 ... 60: row 2k of A with row k of B
  const auto within = [](int low, int high, int factor) {
    return
        [=](int i) { return i >= low && i <= high ? std::to_string(factor * i) : std::string(i % 2 == 0 ? "" : "-1"); };
  };
  const TemporaryFile first("one.csv", csv_of(one, within(1, 60, 1))), second("two.csv", csv_of(two, within(1, 45, 2)));
  const auto alignments =
      read_alignments(s, {.of_entity = {}, .of_chain = {{"A", first.path()}, {"B", second.path()}}});
  EXPECT_EQ(alignments.of_chain[0]->rows.size(), 249U);
  EXPECT_EQ(alignments.of_chain[1]->rows.size(), 78U);  // 84, six repeated ones without a key
  const Features f = features_of(s, alignments);
  EXPECT_EQ(f.at("msa").sizes(), (std::vector<int64_t>{1 + 30 + 218, 384 + 136}));
  expect_consistent(f);
  const at::Tensor paired = f.at("msa_paired");
  EXPECT_EQ(number(paired.slice(0, 0, 31).sum()), 31 * 520);
  EXPECT_EQ(number(paired.slice(0, 31).sum()), 0);
  const auto letters = [](const std::string& text) {
    std::vector<int64_t> ids;
    for (const char c : text) ids.push_back(c == '-' ? kGap : alignment_residue(MolType::protein, c).value());
    return at::tensor(ids, at::kLong);
  };
  for (const int k : {1, 7, 30}) {
    EXPECT_TRUE(at::equal(f.at("msa")[k].slice(0, 0, 384), letters(columns_of(one, 2 * k)))) << k;
    EXPECT_TRUE(at::equal(f.at("msa")[k].slice(0, 384), letters(columns_of(two, k)))) << k;
  }
  // first unpaired row: the first of each chain without a partner; from row 31 + 47 on only A has rows left
  EXPECT_TRUE(at::equal(f.at("msa")[31].slice(0, 0, 384), letters(columns_of(one, 1))));
  EXPECT_TRUE(at::equal(f.at("msa")[31].slice(0, 384), letters(columns_of(two, 31))));
  EXPECT_TRUE(f.at("msa").slice(0, 31 + 47).slice(1, 384).eq(kGap).all().item<bool>());
  EXPECT_FALSE(f.at("msa")[31 + 46].slice(0, 384).eq(kGap).all().item<bool>());
}

TEST(MsaFeatures, AtomsOfAModifiedResidueHaveItsColumn) {
  Structure s = fasta(">A|protein\nMKVLAAGIVGLPNSTWKEEDHRYQFC\n");
  s.chains[0].residues[13].component = "SEP";
  const Features f = features_of(s, {.of_entity = {}, .of_chain = {{"A", case_file("k06_modified.a3m")}}});
  const int64_t atoms = f.at("msa").size(1) - 25;
  EXPECT_EQ(atoms, 10);  // phosphoserine without its leaving OXT
  EXPECT_TRUE(f.at("msa")[0].slice(0, 13, 13 + atoms).eq(kUnknownProtein).all().item<bool>());
  EXPECT_TRUE(f.at("msa")[1].slice(0, 12, 13 + atoms + 2).eq(kGap).all().item<bool>());  // four deleted residues
  EXPECT_EQ(integer(f.at("msa")[1][13 + atoms + 2]), 13);                                // K 17
  EXPECT_NEAR(number(f.at("deletion_value")[1][6]), std::numbers::pi / 2 * std::atan(2.0 / 3), 1e-6);
  EXPECT_EQ(number(f.at("modified").sum()), 10);
}

TEST(MsaFeatures, ProteinAndRnaShareNoId) {  // K07
  const Structure s = fasta(">P|protein\nGACG\n>R|rna\ngacg\n");
  const TemporaryFile file("x.a3m", ">q\nGACG\n>h\nGCAG\n>h2\nAACG\n");
  const Features f = features_of(s, {.of_entity = {}, .of_chain = {{"P", file.path()}, {"R", file.path()}}});
  const at::Tensor protein = f.at("msa").slice(1, 0, 4), rna = f.at("msa").slice(1, 4, 8);
  EXPECT_EQ(protein.size(0), 3);
  EXPECT_LT(integer(protein.max()), 23);
  EXPECT_GE(integer(rna.min()), 23);
}

TEST(MsaFeatures, SingleSequenceModeIsTheTokensThemselves) {
  const Structure s = read_structure(data_file("5ugo.cif"));
  const Features plain = token_features(s, tokenise(s)), f = features_of(s, single_sequences(s));
  EXPECT_EQ(msa_depth(f), 1);
  expect_consistent(f);
  EXPECT_TRUE(at::equal(f.at("profile"), plain.at("profile")));
  EXPECT_TRUE(at::equal(f.at("deletion_mean"), plain.at("deletion_mean")));
  EXPECT_EQ(msa_depth(plain), 0);
}

TEST(MsaFeatures, ContractErrors) {
  const Structure s = fasta(">A|protein\nGACK\n");
  EXPECT_THROW(features_of(s, ChainAlignments{}), ContractError);
  EXPECT_THROW(features_of(s, single_sequences(s), {.rows = 0}), ContractError);
  const Features good = features_of(s, single_sequences(s));
  Features changed = good;
  changed.erase("msa_paired");
  EXPECT_THROW(check_features(changed), ContractError);
  changed = good;
  changed["msa_mask"] = at::ones({2, 4});
  EXPECT_THROW(check_features(changed), ContractError);
  changed["msa_mask"] = at::full({1, 4}, 0.5F);
  EXPECT_THROW(check_features(changed), ContractError);
}

TEST(MsaFeatures, PaddingAndCollationOfDifferentDepths) {
  const Structure s = fasta(haemoglobin(1)), t = fasta(">A|protein\nGACKL\n");
  const Features deep = features_of(s, {.of_entity = {{"1", kDeep}}, .of_chain = {}}, {.rows = 7});
  const Features shallow = features_of(t, single_sequences(t));
  const Features batch = collate({deep, shallow});
  EXPECT_EQ(check_features(batch, true), 141);
  EXPECT_EQ(msa_depth(batch, true), 7);
  EXPECT_TRUE(at::equal(batch.at("msa")[0], deep.at("msa")));
  const at::Tensor mask = batch.at("msa_mask")[1];  // varies by row and by token
  EXPECT_EQ(number(mask.sum()), 5);
  EXPECT_EQ(number(mask[0].slice(0, 0, 5).sum()), 5);
  EXPECT_TRUE(at::equal(batch.at("msa")[1][0].slice(0, 0, 5), shallow.at("msa")[0]));
  EXPECT_TRUE(batch.at("msa")[1].masked_select(mask.eq(0)).eq(kGap).all().item<bool>());
  for (const char* name : {"msa_paired", "has_deletion", "deletion_value"})
    EXPECT_TRUE(batch.at(name)[1].masked_select(mask.eq(0)).eq(0).all().item<bool>()) << name;
  EXPECT_EQ(msa_depth(pad_msa_to(deep, 9)), 9);
  EXPECT_THROW(pad_msa_to(deep, 6), ContractError);
  EXPECT_THROW(collate({deep, token_features(t, tokenise(t))}), ContractError);
}

TEST(MsaFeatures, TheBatchOfTheEndToEndProof) {
  const Features f = parity::haemoglobin_features(64, 2, 3);
  EXPECT_EQ(check_features(f, true), 144);
  EXPECT_EQ(f.at("msa").sizes(), (std::vector<int64_t>{2, 67, 144}));
  EXPECT_EQ(number(f.at("msa_mask")[0].sum()), 64 * 141);
  EXPECT_EQ(number(f.at("msa_mask")[1].sum()), 63 * 141);
  EXPECT_EQ(number(f.at("token_pad_mask").sum()), 2 * 141);
  for (const auto& spec : kFeatureSpecs) {
    const bool coordinates = spec.name == "disto_center" || spec.name == "token_disto_mask";
    EXPECT_EQ(f.count(std::string(spec.name)), coordinates ? 0U : 1U) << spec.name;
  }
}

}  // namespace
}  // namespace cpize::features
