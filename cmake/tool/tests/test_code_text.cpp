// Which edits leave the text of code as it is, and which do not.
#include "code_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "include_scan.hpp"

namespace cpize::tool {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(CodeText, CommentsAndLayoutDoNotCount) {
  for (const auto& [a, b] : Pairs{{"int a;", "int a;  // one\n"},
                                  {"int a;", "\n\n/* one\n * two */ int\ta ;\r\n"},
                                  {"int a;\nint b;\n", "int a; // it's \"one\nint b;"},
                                  {"int a; int b;", "int a; // one \\\n two \\\r\n int c;\nint b;"},
                                  {"a b", "a/**/b"},
                                  {"a b", "a\n\n  b"},
                                  {"f(a, b) {\n  return a;\n}\n", "f( a,b )\n{ return a; }"},
                                  {"T& x = y[0];", "T &x=y [ 0 ] ;"},
                                  {"f(A<B>& x, A<B>* y)", "f(A<B> &x, A<B> *y)"},
                                  {"a = b ? c : d;", "a = b\n        ? c\n        : d;"},
                                  {"x.f()\n    .g()", "x.f().g()"},
                                  {"x\n    .g()", "x.g()"},
                                  {"p->q", "p\n  ->q"},
                                  {"a + b", "a+b"},
                                  {"a - -b", "a-  // minus\n  -b"},
                                  {"f(\"x\")", "f( \"x\" )"},
                                  {"f(\"a\" \"b\")", "f(\n  \"a\"  // first\n  \"b\")"},
                                  {"case 'a': return 1'000;", "case 'a' :\n  return 1'000 ;"},
                                  {"x = 5 - y", "x=5-y"},
                                  {"#define A 1\nint a;", "  #  define  A \t 1  // one\nint a;"},
                                  {"#define A 1 + 2\n", "#define A \\\n  1 + \\\r\n  2\n"},
                                  {"#define A 1\n", "#define A 1 /* one\n two */\n"},
                                  {"#define A 1\n", "\xef\xbb\xbf#define A 1"},
                                  {"int a;\n#if A\nb\n#endif\n", "int a; /* x */\n\n\n#if A // why\n\nb\n#endif"},
                                  {"#include <a//b>\n", "#include <a//b> // c\n"},
                                  {"%:define A 1\n", "%: define A 1 // a\n"},
                                  {"#include A(x)\n", "#include A(x)  \n"},
                                  {"kernel<<<grid, block>>>(x);", "kernel<<<grid,\n         block>>>( x ) ;"},
                                  {"a = R\"(\n//\n)\";", "a=R\"(\n//\n)\" ; // )\""},
                                  {"module->forward(x);", "module->forward(  // y\n  x);"},
                                  {"auto r = 1'000; // a\nint s;", "auto r = 1'000; // b's\nint s;"}}) {
    EXPECT_EQ(code_text(a), code_text(b)) << a << "\n--- and\n" << b;
  }
}

TEST(CodeText, WhatACompilerMayReadOtherwiseCounts) {
  for (const auto& [a, b] : Pairs{{"a/**/b", "ab"},
                                  {"a b", "ab"},
                                  {"a - -b", "a--b"},
                                  {"a + +b", "a++b"},
                                  {"A<B<C> > x", "A<B<C>> x"},
                                  {"a / *b", "a /*b"},
                                  {"a & &b", "a &&b"},
                                  {"a< ::b", "a<::b"},
                                  {"1 .x", "1.x"},
                                  {"1.5e +x", "1.5e+x"},
                                  {"0xe -x", "0xe-x"},
                                  {"1e+x .y", "1e+x.y"},
                                  {"a. 5", "a.5"},
                                  {"a-> *b", "a->*b"},
                                  {"a < =b", "a <=b"},
                                  {"a <= > b", "a <=> b"},
                                  {"[ :", "[:"},
                                  {"%:%:\na", "%:%: a"},
                                  {".5.'0; a = '\"' \"//b\"", ".5.'0; a = '\"' \"//c\""},
                                  {"1e+'0; a = '\"' \"//b\"", "1e+'0; a = '\"' \"//c\""},
                                  {"$a'0; // b", "$a'0; // c"},
                                  {"$1'0/*b*/;'", "$1'0/*c*/;'"},
                                  {"1 'a'", "1'a'"},
                                  {"u8 \"x\"", "u8\"x\""},
                                  {"R \"(x)\"", "R\"(x)\""},
                                  {"L 'x'", "L'x'"},
                                  {"\"x\" _s", "\"x\"_s"},
                                  {"\"//\"", "\"/\""},
                                  {"\"// a\"", "\"// b\""},
                                  {"\"/* a */\"", "\"\""},
                                  {"\"a  b\"", "\"a b\""},
                                  {"'\"'; // a", "'\"'; \"// a\""},
                                  {"R\"(// a)\"", "R\"(// b)\""},
                                  {"R\"(a\n  b)\"", "R\"(a\nb)\""},
                                  {"R\"x()\" // a)x\"", "R\"x()\" // b)x\""},
                                  {"int a = 1'000'000; // c\n", "int a = 1'000'001; // c\n"},
                                  {"#define f (x)\n", "#define f(x)\n"},
                                  {"#define f/**/(x)\n", "#define f(x)\n"},
                                  {"#define A 1\nb", "#define A 1 b"},
                                  {"#define A 1 \\\nb", "#define A 1 \nb"},
                                  {"#define A // \\\nb", "#define A // \nb"},
                                  {"a\n#b", "a #b"},
                                  {"#if A\nb\n#endif\n", "#if A\n#endif\nb\n"},
                                  {"#include <a//b>\n", "#include <a//c>\n"},
                                  {"#include \"a  b\"\n", "#include \"a b\"\n"},
                                  {"#include A /* b */\n", "#include A /* c */\n"},
                                  {"// a \\\nint b;\n", "// a\nint b;\n"},
                                  {"/* a */ int b; /* */", "/* a  int b; /* */"},
                                  // what the walk is not sure of counts as it is
                                  {"/\\\n/ a\nb", "/\\\n/ a b"},
                                  {"a\\\nb", "a b"},
                                  {"/* a *\\\n/ b /* */", "/* a *\\\n/ c /* */"},
                                  {"#define A 1 \\ \n+ 2\nb", "#define A 1 \\ \n+ 2 b"},
                                  {"a // b \\ \nc", "a // d \\ \nc"},
                                  {"x.5'0; a = '\"' \"//b\"", "x.5'0; a = '\"' \"//c\""},
                                  {"1e+R\"(a//b\n)\"", "1e+R\"(a//c\n)\""},
                                  {"a ?\?/\nb", "a ?\?/ b"},
                                  {"#if __has_include(<a//b>)\n", "#if __has_include(<a//c>)\n"},
                                  {"#embed <a//b>\n", "#embed <a//c>\n"},
                                  {"import <a//b>;\n", "import <a//c>;\n"},
                                  {"module;\n#define A\n", "module\n;\n#define A\n"},
                                  {"a 'b // c\n", "a 'b // d\n"},
                                  {"// a\rb", "// c\rb"}}) {
    EXPECT_NE(code_text(a), code_text(b)) << a << "\n--- and\n" << b;
  }
}

TEST(CodeText, Form) {
  EXPECT_EQ(code_text("#  define A  1 // x\nint  a = 1 ;  // y\n\n  return a ;\n#endif"),
            "#define A 1\nint a=1;return a;\n#endif\n");
  EXPECT_EQ(code_text(""), "");
  EXPECT_EQ(code_text("// a\n"), "");
  for (const char* s : {"#define A 1\nint a=1;\n#endif\n", "a- -b 1 .x u8 \"x\"", "auto s=R\"(\n #)\";"})
    EXPECT_EQ(code_text(s), s);
}

TEST(CodeText, FilesByName) {
  for (const char* p : {"a.cpp", "x/b.cu", "c.v/d.h"}) EXPECT_TRUE(is_named_as_code(p)) << p;
  for (const char* p : {"README", "x.cpp/LICENSE", "vector", "a.txt", "b.cmake", "c.py"})
    EXPECT_FALSE(is_named_as_code(p)) << p;
}

}  // namespace
}  // namespace cpize::tool
