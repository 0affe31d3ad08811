// Known answers of FIPS 180-4 and of the usual test vectors.
#include <gtest/gtest.h>

#include <string>

#include "sha256.hpp"

namespace cpize::tool {
namespace {

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 37);
  for (std::size_t cut = 0; cut <= text.size(); cut += 7) {
    Sha256 h;
    h.add(text.substr(0, cut));
    h.add(text.substr(cut));
    ASSERT_EQ(h.hex(), sha256(text)) << cut;
  }
}

TEST(Sha256, FieldsDoNotRunTogether) {
  Sha256 a, b;
  a.add_field("ab"), a.add_field("c");
  b.add_field("a"), b.add_field("bc");
  EXPECT_NE(a.hex(), b.hex());
}

}  // namespace
}  // namespace cpize::tool
