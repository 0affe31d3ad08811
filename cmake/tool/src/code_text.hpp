// C++ or CUDA text as a compiler reads it: without comments, and with blanks only where they separate something.
//
// The result is a text of the same tokens and directives, so two texts with one result compile to the same program.
// What that leaves out: line numbers (__LINE__, the call sites in messages), the blanks inside a macro's arguments that
// the macro turns into a string with #, and comments that silence a warning.
#pragma once
#include <string>
#include <string_view>

namespace cpize::tool {

/// * A comment counts as a blank. String and character literals and the names of headers are kept byte for byte.
/// * A directive keeps its line, and one space wherever it had a blank: `#define f (x)` is not `#define f(x)`.
/// * Elsewhere a run of blanks and line ends is left out where its two sides cannot join to another token; where they
///   might, it is one space: `a b`, `- -`, `> >`, `1 .x`, `u8 "x"`, `"x" _s`.
///
/// A text that compilers may read in another way than the walk (code_walk.hpp) is returned as it is. That includes
/// trigraphs, a backslash with blanks before its line end, carriage returns inside lines, __has_include, #embed,
/// modules.
std::string code_text(std::string_view text);

}  // namespace cpize::tool
