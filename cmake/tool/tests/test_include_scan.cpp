// What counts as an #include line, and what only looks like one.
#include <gtest/gtest.h>

#include <string>

#include "include_scan.hpp"

namespace cpize::tool {
namespace {

std::string scanned(std::string_view text) {
  std::string out;
  for (const auto& i : scan_includes(text)) {
    out += std::string(1, static_cast<char>(i.kind)) + i.name + ":" + std::to_string(i.line) + " ";
  }
  return out;
}

TEST(IncludeScan, Forms) {
  EXPECT_EQ(scanned("#include \"a.hpp\"\n#include <b/c.hpp>\n"), "\"a.hpp:1 <b/c.hpp:2 ");
  EXPECT_EQ(scanned("  #  include\t<a>\n#include_next <b>\n%:include <c>\n#import \"d\"\n"), "<a:1 <b:2 <c:3 \"d:4 ");
  EXPECT_EQ(scanned("#/* x */include/* y */\"a.hpp\" // z\n"), "\"a.hpp:1 ");
  EXPECT_EQ(scanned("#include \\\n  \"a.hpp\"\n#include <b>"), "\"a.hpp:2 <b:3 ");
  EXPECT_EQ(scanned("#include \"a.hpp\"\r\n#include HEADER(x)  \r\n"), "\"a.hpp:1 mHEADER(x):2 ");
  EXPECT_EQ(scanned("\xef\xbb\xbf#include <a>\n"), "<a:1 ");
  EXPECT_EQ(scanned("#if 0\n#include <a>\n#endif\n"), "<a:2 ");  // more is safe
}

TEST(IncludeScan, WhatOnlyLooksLikeOne) {
  EXPECT_EQ(scanned("// #include <a>\n/*\n#include <b>\n*/\n// c \\\n#include <d>\nint x; #include <e>\n"), "");
  EXPECT_EQ(scanned("const char* s = \"\\\"\n#include <a>\n\";\n"), "<a:2 ");  // a broken literal ends with its line
  EXPECT_EQ(scanned("#define X #include <a>\n#includes <b>\n#error include <c>\n"), "");
}

TEST(IncludeScan, LiteralsThatHideCommentMarks) {
  EXPECT_EQ(scanned("auto s = \"/*\";\n#include <a>\n"), "<a:2 ");
  EXPECT_EQ(scanned("auto s = R\"x(\" /*\n#include <no>\n)\" )x\";\n#include <a>\n"), "<a:4 ");
  EXPECT_EQ(scanned("auto s = u8R\"(/*)\";\n#include <a>\n"), "<a:2 ");
  EXPECT_EQ(scanned("int n = 1'000'000; char c = '\"'; char d = u'/'; /*\n#include <no>\n*/\n#include <a>\n"), "<a:4 ");
  EXPECT_EQ(scanned("int n = 0x'ff; // '\n#include <a>\n"), "<a:2 ");
}

TEST(IncludeScan, CodeByExtension) {
  for (const char* p : {"a.cpp", "x/b.cu", "b.HPP.hpp", "vector", "d.v/noextension"}) EXPECT_TRUE(is_code(p)) << p;
  for (const char* p : {"a.txt", "b.json", "c.cmake", "x.cpp.bak"}) EXPECT_FALSE(is_code(p)) << p;
}

}  // namespace
}  // namespace cpize::tool
