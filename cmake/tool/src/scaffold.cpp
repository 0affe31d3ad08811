// cpize scaffold: port, parity case, CMake lines and a page for a declared task that has no code yet. What it writes
// compiles at once and is red until it is written: the port and its case say that they are not.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "commands.hpp"
#include "declaration.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

using Words = std::map<std::string, std::string>;

// $CPIZE_TEMPLATES, else beside the program: in the build tree, or below the installed prefix
fs::path template_folder() {
  if (const char* folder = std::getenv("CPIZE_TEMPLATES"); folder && *folder) return folder;
  std::error_code e;
  const fs::path here = fs::read_symlink("/proc/self/exe", e).parent_path();
  for (const char* place : {"templates", "../templates", "../share/cpize/templates", "../../share/cpize/templates"}) {
    if (fs::is_directory(here / place, e)) return (here / place).lexically_normal();
  }
  throw Blocker("the templates of scaffold are not beside this program; name their folder with CPIZE_TEMPLATES");
}

std::string fill(const fs::path& file, const Words& words) {
  auto text = read_file(file);
  if (!text) throw Blocker(fmt::format("no template {}", file.string()));
  for (const auto& [name, value] : words) *text = replace_all(std::move(*text), "{{" + name + "}}", value);
  if (const std::size_t n = text->find("{{"); n != std::string::npos && text->find("}}", n) != std::string::npos) {
    const std::string word = text->substr(n + 2, text->find("}}", n) - n - 2);
    if (std::ranges::all_of(word, [](unsigned char c) { return std::islower(c) || c == '_'; }) && !word.empty()) {
      throw UsageError(fmt::format("{}: scaffold knows no '{{{{{}}}}}'", file.string(), word));
    }
  }
  return *text;
}

std::string identifier(const std::string& text) {
  std::string out;
  for (const unsigned char c : text) out += std::isalnum(c) ? static_cast<char>(std::tolower(c)) : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "_" + out;
  return out;
}

// axial_attention -> AxialAttention
std::string type_name(const std::string& id) {
  std::string out;
  bool upper = true;
  for (const unsigned char c : id) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += static_cast<char>(upper ? std::toupper(c) : c);
    upper = false;
  }
  return out;
}

// where #include begins to look: the project's usual folder for it, if the task lies in one
fs::path include_root(const fs::path& relative) {
  const fs::path first = relative.empty() ? fs::path() : *relative.begin();
  for (const char* usual : {"modules", "src", "include"}) {
    if (first == usual) return first;
  }
  return {};
}

struct Files {
  fs::path header, source, page, parity_case;  // relative to the project
};

Files choose_files(const Plan& plan, const fs::path& folder, const std::string& stem, bool feature) {
  Files f{folder / (stem + ".hpp"), folder / (stem + ".cpp"),
          fs::path("docs") / (feature ? "features" : "ports") / (stem + ".md"), folder / (stem + "_case.cpp")};
  std::error_code e;
  const bool has_parity = fs::is_directory(plan.source / "parity", e);
  if (has_parity && (folder.empty() || *folder.begin() != "parity")) {  // its paths mirror the code's
    const fs::path root = include_root(folder);
    f.parity_case = "parity" / (root.empty() ? folder : folder.lexically_relative(root)) / (stem + "_case.cpp");
    f.parity_case = f.parity_case.lexically_normal();
  }
  return f;
}

bool is_feature(const Task& t, const std::string& kind) {
  if (!kind.empty()) return kind == "feature";
  if (t.phase == 2 || t.phase == 3) return t.phase == 2;
  throw UsageError(
      fmt::format("{} is a task of phase {}; scaffold writes ports (phase 3) and features (phase 2), or "
                  "what --kind port or --kind feature says",
                  t.id, t.phase));
}

Words words_for(const Plan& plan, const Task& t, const Files& f, const std::string& stem, const fs::path& folder) {
  const fs::path root = include_root(folder);
  const fs::path header = root.empty() ? f.header : f.header.lexically_relative(root);
  return {{"id", t.id},
          {"stem", stem},
          {"Name", type_name(stem)},
          {"namespace", identifier(plan.name)},
          {"header", header.generic_string()},
          {"header_path", f.header.generic_string()},
          {"source", f.source.generic_string()},
          {"case", f.parity_case.generic_string()},
          {"case_from_here", (plan.source / f.parity_case).lexically_relative(t.dir).generic_string()},
          {"include_root", root.empty() ? "${CMAKE_SOURCE_DIR}" : "${CMAKE_SOURCE_DIR}/" + root.generic_string()},
          {"depends", t.depends.empty() ? "nothing" : join(t.depends, ", ")}};
}

// the declaration with SOURCES and PARITY in it, and the lines behind it; "" where it cannot be edited in place
std::string edited(const std::string& text, int line, const Task& t, const std::string& stem,
                   const std::string& lines) {
  std::vector<std::string> names{t.id};
  if (t.id.starts_with("feature.")) names.push_back(t.id.substr(8));
  const auto d = find_declaration(text, line, names);
  if (!d) return "";
  const std::string blanks(d->indent.size() + 11, ' ');  // below the arguments of cpize_port(
  std::string inside = fmt::format("\n{}SOURCES {}.cpp  PARITY parity_{}", blanks, stem, stem);
  // a comment at the end of the last line would swallow what follows it on that line
  std::string behind;
  for (const auto& l : split(lines)) behind += "\n" + d->indent + l;
  std::string out = text;
  const std::size_t end = out.find('\n', d->close);
  out.insert(end == std::string::npos ? out.size() : end, behind);
  std::size_t last = d->close;
  while (last > 0 && (out[last - 1] == ' ' || out[last - 1] == '\n' || out[last - 1] == '\t')) --last;
  return out.replace(last, d->close - last, inside);
}

}  // namespace

int scaffold(Tree& tree, const std::string& id, const std::string& kind) {
  const Plan& plan = tree.plan();
  if (!plan.has(id)) {
    std::string near;
    try {
      plan.at(id);
    } catch (const UsageError& e) {
      near = e.what();
    }
    throw UsageError(
        fmt::format("{}; declare it first, e.g. cpize_port({}  SUBSYSTEM model  KIND new), and configure", near, id));
  }
  const Task& t = plan.at(id);
  if (!t.verb.empty()) throw UsageError(fmt::format("{} has code already (declared at {})", id, t.where));
  const bool feature = is_feature(t, kind);
  const std::string stem = identifier(id.starts_with("feature.") ? id.substr(8) : id);
  fs::path folder = t.dir.lexically_relative(plan.source);
  if (folder == ".") folder.clear();
  if (folder.string().starts_with("..")) {
    throw UsageError(fmt::format("{} is declared outside the project ({})", id, t.dir.string()));
  }
  const Files f = choose_files(plan, folder, stem, feature);
  const Words words = words_for(plan, t, f, stem, folder);
  const fs::path templates = template_folder() / (feature ? "feature" : "port");
  const std::vector<std::pair<fs::path, std::string>> files{{f.header, fill(templates / "header.hpp.in", words)},
                                                            {f.source, fill(templates / "source.cpp.in", words)},
                                                            {f.parity_case, fill(templates / "case.cpp.in", words)},
                                                            {f.page, fill(templates / "page.md.in", words)}};
  const std::string lines = fill(templates / "lines.cmake.in", words);

  std::vector<std::string> present;
  std::error_code e;
  for (const auto& [file, text] : files) {
    if (fs::exists(plan.source / file, e)) present.push_back(file.generic_string());
  }
  if (!present.empty()) throw UsageError(fmt::format("{} exists already; nothing written", join(present, ", ")));

  const std::size_t colon = t.where.rfind(':');
  const fs::path list = t.where.substr(0, colon);
  const int line = colon == std::string::npos ? 0 : std::atoi(t.where.c_str() + colon + 1);
  const std::string cmake = line > 0 ? edited(read_file(plan.source / list).value_or(""), line, t, stem, lines) : "";
  for (const auto& [file, text] : files) {
    fs::create_directories((plan.source / file).parent_path());
    write_atomically(plan.source / file, text);
    fmt::print("wrote   {}\n", file.generic_string());
  }
  if (!cmake.empty()) {
    write_atomically(plan.source / list, cmake);
    fmt::print("changed {}: SOURCES and PARITY in the declaration, its library and its case behind it\n",
               list.generic_string());
  } else {
    fmt::print(
        "\nthe declaration at {} is not plain text; add to it\n  SOURCES {}.cpp  PARITY parity_{}\nand behind it\n",
        t.where, stem, stem);
    for (const auto& l : split(lines)) fmt::print("  {}\n", l);
  }
  fmt::print(
      "\nnext: configure again (cmake {0}), then: cpize prove {1}\nIt is red until {2} {3} and {4} is written.\n",
      plan.build.lexically_proximate(fs::current_path()).string(), id, f.parity_case.generic_string(),
      feature ? "reads samples" : "names the serial block", f.source.generic_string());
  return kDone;
}

}  // namespace cpize::tool
