#include "keys.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <set>

#include "errors.hpp"
#include "sha256.hpp"
#include "text.hpp"

namespace cpize::tool {

Keys::Keys(const Plan& plan, const Decisions& decisions, FileCache& files)
    : plan_(plan), decisions_(decisions), files_(files) {}

const Keys::Resolved& Keys::resolve(const std::string& file, const Includes& dirs,
                                    std::unordered_map<std::string, Resolved>& memo) {
  const auto [it, added] = memo.try_emplace(file);
  Resolved& r = it->second;
  if (!added) return r;
  r.name = plan_.project_name(file);
  if (r.name.empty()) return r;
  const FileFacts* facts = files_.get(file);
  if (!facts) return r;
  r.hash = facts->code;
  for (const auto& inc : facts->includes) {
    if (inc.kind == Include::kMacro) {
      r.macros.push_back(fmt::format("{}:{}: #include {}", r.name, inc.line, inc.name));
      continue;
    }
    // the first hit wins, as for the compiler; found anew in every run, so a header that shadows another one is seen
    std::string hit;
    const auto try_in = [&](const std::string& dir) {
      std::string candidate = (fs::path(dir) / inc.name).lexically_normal().string();
      if (hit.empty() && !plan_.project_name(candidate).empty() && files_.get(candidate)) hit = std::move(candidate);
    };
    if (inc.kind == Include::kQuoted) try_in(fs::path(file).parent_path().string());
    for (const auto& d : dirs) {
      if (hit.empty()) try_in(d);
    }
    if (!hit.empty()) {
      r.to.push_back(std::move(hit));
    } else if (inc.kind == Include::kQuoted) {
      r.lost.push_back(fmt::format("include \"{}\"", inc.name));
    }
  }
  return r;
}

const Keys::Closure& Keys::closure(const Unit& unit) {
  std::string identity = unit.target + '\0' + unit.dir.string() + '\0' + join(unit.sources, "\n");
  auto& slot = closures_[identity];
  if (slot) return *slot;
  slot = std::make_unique<Closure>();
  Includes dirs;
  for (const auto& i : unit.includes) {
    std::string d = fs::path(i).lexically_normal().string();
    if (d.size() > 1 && d.back() == '/') d.pop_back();
    if (!plan_.project_name(d + "/x").empty()) dirs.push_back(std::move(d));
  }
  auto& memo = resolved_[dirs];
  std::deque<std::string> todo;
  for (const auto& s : unit.sources) {
    const fs::path p = (fs::path(s).is_relative() ? unit.dir / s : fs::path(s)).lexically_normal();
    const std::string e = p.extension().string();
    if (e != ".o" && e != ".obj" && e != ".rule") todo.push_back(p.string());
  }
  std::set<std::string> seen;
  while (!todo.empty()) {
    const std::string file = std::move(todo.front());
    todo.pop_front();
    if (!seen.insert(file).second) continue;
    const Resolved& r = resolve(file, dirs, memo);
    if (r.name.empty()) continue;
    slot->inputs[r.name] = r.hash.empty() ? "absent" : r.hash;
    slot->files.push_back(file);
    for (const auto& l : r.lost) slot->inputs[l] = "not in the project";
    slot->macros.insert(slot->macros.end(), r.macros.begin(), r.macros.end());
    todo.insert(todo.end(), r.to.begin(), r.to.end());
  }
  Sha256 h;
  for (const auto& [name, value] : slot->inputs) h.add_field(name), h.add_field(value);
  slot->digest = h.hex();
  return *slot;
}

std::map<std::string, std::string> Keys::own_inputs(const Task& t, std::vector<std::string>* missing) {
  std::map<std::string, std::string> in;
  for (const auto& u : t.units) {
    if (!u.flags.empty()) in["flags of " + u.target] = plan_.portable(u.flags);
  }
  for (const auto& i : t.inputs) {
    const fs::path p = (fs::path(i).is_relative() ? t.dir / i : fs::path(i)).lexically_normal();
    std::string name = plan_.project_name(p.string());
    if (name.empty()) name = "<outside>/" + p.filename().string();
    std::error_code e;
    if (fs::is_directory(p, e)) {
      in[name] = "directory";
      for (const auto& f : fs::recursive_directory_iterator(p, e)) {
        if (!f.is_regular_file(e)) continue;
        const FileFacts* facts = files_.get(f.path().string());
        in[name + "/" + f.path().lexically_relative(p).string()] = facts ? facts->sha256 : "absent";
      }
    } else if (const FileFacts* facts = files_.get(p.string())) {
      in[name] = facts->sha256;
    } else {
      in[name] = "absent";
      if (missing) missing->push_back(name);
    }
  }
  in["verb"] = t.verb;
  in["phase"] = std::to_string(t.phase);  // what the judge demands depends on it
  if (!t.target.empty()) in["program"] = t.target;
  if (t.target.empty() &&
      !t.command.empty()) {  // where a program is installed does not matter, a script of the project does
    const std::string name = plan_.project_name(fs::path(t.command[0]).lexically_normal().string());
    in["command"] = name.empty() || name.starts_with("<build>/") ? fs::path(t.command[0]).filename().string() : name;
  }
  std::string args;
  const auto add_argument = [&](const std::string& a, bool whole) {
    if (whole) args += plan_.portable(a) + '\n';
    // a script, a configuration: a file of the sources that the command line names counts with its content
    for (const fs::path& base : {t.dir, plan_.source}) {
      const std::string p = (base / a).lexically_normal().string();
      const std::string name = plan_.project_name(p);
      if (name.empty() || name.starts_with("<build>/")) continue;
      if (const FileFacts* facts = files_.get(p)) in[name] = facts->sha256;
    }
  };
  for (std::size_t i = t.target.empty() ? 0 : 1; i < t.command.size(); ++i) add_argument(t.command[i], i > 0);
  for (const auto& a : t.args) add_argument(a, true);
  in["arguments"] = args;
  if (!t.artifact.empty()) in["artifact"] = t.artifact;
  if (const auto e = decisions_.epoch.find(t.id); e != decisions_.epoch.end()) in["epoch"] = std::to_string(e->second);
  return in;
}

const Key& Keys::of(const std::string& id) {
  if (const auto it = keys_.find(id); it != keys_.end()) return it->second;
  const Task& t = plan_.at(id);
  Key k;
  std::set<std::string> closures;
  for (const auto& u : t.units) {
    const Closure& c = closure(u);
    closures.insert(c.digest);
    k.macros.insert(k.macros.end(), c.macros.begin(), c.macros.end());
  }
  Sha256 h;
  h.add_field("cpize key 1");
  h.add_field(id);
  for (const auto& c : closures) h.add_field(c);
  h.add_field("inputs");
  for (const auto& [name, value] : own_inputs(t, &k.missing)) h.add_field(name), h.add_field(value);
  h.add_field("producers");
  const std::set<std::string> producers(t.depends.begin(), t.depends.end());
  for (const auto& d : producers) h.add_field(d), h.add_field(of(d).id);
  k.id = h.hex().substr(0, 32);
  return keys_[id] = std::move(k);
}

std::map<std::string, std::string> Keys::inputs(const std::string& id) {
  const Task& t = plan_.at(id);
  auto in = own_inputs(t, nullptr);
  for (const auto& u : t.units) {
    for (const auto& [name, value] : closure(u).inputs) in.emplace(name, value);  // bytes of INPUTS show more
  }
  for (const auto& d : t.depends) in["producer " + d] = of(d).id;
  return in;
}

std::vector<std::string> Keys::source_files(const std::string& id) {
  std::set<std::string> out;
  for (const auto& u : plan_.at(id).units) {
    for (const auto& f : closure(u).files) {
      if (!plan_.project_name(f).starts_with("<build>/")) out.insert(f);
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace cpize::tool
