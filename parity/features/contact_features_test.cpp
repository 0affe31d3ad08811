// Contact conditioning: pockets and contacts, and each constraint that cannot or does not do anything.
#include "features/contact_features.hpp"

#include <gtest/gtest.h>

#include "features/read_fasta.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

struct Complex {
  explicit Complex(const std::string& text) {
    const TemporaryFile file("x.fasta", text);
    structure = read_fasta(file.path());
    tokens = tokenise(structure);
  }
  Features features(const ContactConstraints& constraints) const {
    Features f = token_features(structure, tokens);
    add_contact_constraints(f, structure, tokens, constraints);
    check_features(f);
    return f;
  }
  std::string error(const ContactConstraints& constraints) const {
    return input_error([&] { features(constraints); });
  }
  Structure structure;
  TokenisedStructure tokens;
};

/// The complex of the K14 cases: 26 residues and ATP, 31 heavy atoms.
const Complex& k14() {
  static const Complex complex(">A|protein\nMKVLAAGIVGLPNSTWKEEDHRYQFC\n>L|ccd\nATP\n");
  return complex;
}

ContactConstraints pocket_at(int position, double distance = 6) {
  return {.pockets = {{.binder = "L", .contacts = {{"A", position}}, .max_distance = distance}}, .contacts = {}};
}

int64_t integer(const at::Tensor& x) { return x.item<int64_t>(); }

TEST(K14, PocketsChangeTheFeaturesOfTheNamedTokensOnly) {
  const int64_t residues = 26, atoms = 31;
  const Features none = k14().features({}), at3 = k14().features(pocket_at(3)), at20 = k14().features(pocket_at(20));
  const auto classes = [](const Features& f) { return f.at("contact_conditioning").argmax(2); };
  EXPECT_TRUE(classes(none).eq(0).all().item<bool>());
  EXPECT_EQ(none.at("contact_threshold").sum().item<float>(), 0);
  EXPECT_FALSE(at::equal(classes(at3), classes(none)));
  EXPECT_FALSE(at::equal(classes(at20), classes(none)));
  EXPECT_FALSE(at::equal(classes(at3), classes(at20)));
  for (const auto& [position, f] : {std::pair<int64_t, Features>{3, at3}, {20, at20}}) {
    ASSERT_EQ(f.at("contact_conditioning").sizes(), (std::vector<int64_t>{57, 57, 5}));
    at::Tensor expected = at::ones({57, 57}, at::kLong);      // unselected
    expected.select(1, position - 1).slice(0, residues) = 3;  // binder > pocket
    expected.select(0, position - 1).slice(0, residues) = 2;  // pocket > binder
    EXPECT_TRUE(at::equal(classes(f), expected));
    EXPECT_TRUE(at::equal(f.at("contact_conditioning").sum(2), at::ones({57, 57}, at::kLong)));
    EXPECT_EQ(f.at("contact_threshold").sum().item<float>(), static_cast<float>(2 * atoms * 6));
    EXPECT_EQ(f.at("contact_threshold")[position - 1][30].item<float>(), 6);
    EXPECT_EQ(f.at("contact_threshold")[30][position - 1].item<float>(), 6);
  }
  EXPECT_EQ(k14().features(pocket_at(3, 4.5)).at("contact_threshold").max().item<float>(), 4.5F);
}

TEST(K14, BadPlacesSayWhatThereIs) {
  expect_parts(k14().error(pocket_at(27)), {"x.fasta, pocket constraint 1", "chain 'A' has no residue 27", "1 to 26"});
  expect_parts(k14().error(pocket_at(0)), {"no residue 0"});
  ContactConstraints c{.pockets = {}, .contacts = {{{"A", 26, "SGG"}, {"L", 1, "PG"}}}};
  expect_parts(k14().error(c), {"contact constraint 1", "CYS 26 of chain 'A'", "'SGG'", "one token"});
  c.contacts = {{{"A", 26}, {"L", 1, "PH"}}};
  expect_parts(k14().error(c), {"ATP 1 of chain 'L'", "'PH'", "PG", "PB", "did you mean"});
  c.contacts = {{{"A", 26}, {"M", 1}}};
  expect_parts(k14().error(c), {"no chain 'M'", "A, L"});
  expect_parts(k14().error({.pockets = {{.binder = "l", .contacts = {{"A", 1}}}}, .contacts = {}}),
               {"no chain 'l'", "did you mean 'L'"});
}

TEST(Contacts, BothWaysBetweenTokensOrWholeResidues) {
  const Features one = k14().features({.pockets = {}, .contacts = {{{"A", 2}, {"A", 9}, 8}}});
  const at::Tensor classes = one.at("contact_conditioning").argmax(2);
  EXPECT_EQ(integer(classes.eq(4).sum()), 2);
  EXPECT_EQ(integer(classes[1][8]), 4);
  EXPECT_EQ(integer(classes[8][1]), 4);
  EXPECT_EQ(integer(classes.eq(1).sum()), 57 * 57 - 2);
  EXPECT_EQ(one.at("contact_threshold").sum().item<float>(), 16);
  const Features atom = k14().features({.pockets = {}, .contacts = {{{"A", 2}, {"L", 1, "PG"}, 8}}});
  EXPECT_EQ(integer(atom.at("contact_conditioning").select(2, 4).sum()), 2);
  const Features whole = k14().features({.pockets = {}, .contacts = {{{"A", 2}, {"L", 1}, 8}}});
  EXPECT_EQ(integer(whole.at("contact_conditioning").select(2, 4).sum()), 2 * 31);
}

TEST(Contacts, CopiesOfTheDictionaryStayAsTheyAre) {
  const Features before = token_features(k14().structure, k14().tokens);
  Features after = before;
  add_contact_constraints(after, k14().structure, k14().tokens, pocket_at(3));
  EXPECT_TRUE(before.at("contact_conditioning").select(2, 0).eq(1).all().item<bool>());
  EXPECT_EQ(before.at("contact_threshold").sum().item<float>(), 0);
  EXPECT_GT(after.at("contact_threshold").sum().item<float>(), 0);
}

TEST(Contacts, SeveralConstraintsStandTogether) {
  ContactConstraints both = pocket_at(3);
  both.pockets[0].contacts.push_back({"A", 5});
  both.contacts.push_back({{"A", 3}, {"A", 5}, 10});
  const at::Tensor classes = k14().features(both).at("contact_conditioning").argmax(2);
  EXPECT_EQ(integer(classes.eq(3).sum()), 2 * 31);
  EXPECT_EQ(integer(classes.eq(2).sum()), 2 * 31);
  EXPECT_EQ(integer(classes.eq(4).sum()), 2);
}

TEST(Contacts, WithoutEffectIsAnError) {
  ContactConstraints twice = pocket_at(3);
  twice.pockets.push_back(twice.pockets[0]);
  expect_parts(k14().error(twice), {"pocket constraint 2", "no effect"});
  expect_parts(k14().error({.pockets = {{.binder = "L", .contacts = {}}}, .contacts = {}}), {"names no contact"});
  expect_parts(k14().error({.pockets = {{.binder = "A", .contacts = {{"A", 3}}}}, .contacts = {}}),
               {"contact 3", "binder", "itself"});
  ContactConstraints against = pocket_at(3);
  against.contacts.push_back({{"A", 3}, {"L", 1, "PG"}});
  expect_parts(k14().error(against), {"contact constraint 1", "contradicts"});
  ContactConstraints other = pocket_at(3);
  other.pockets.push_back(pocket_at(3, 8).pockets[0]);
  expect_parts(k14().error(other), {"pocket constraint 2", "contradicts"});
  expect_parts(k14().error({.pockets = {}, .contacts = {{{"A", 3}, {"A", 3}}}}), {"a token and itself", "token 2"});
  for (const double distance : {3.9, 20.1, -1.0})
    expect_parts(k14().error(pocket_at(3, distance)), {"max_distance", "4 to 20"});
}

}  // namespace
}  // namespace cpize::features
