#include "tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text.hpp"

namespace cpize::tool {

using nlohmann::json;

Tree::Tree(const fs::path& plan_file)
    : plan_file_(plan_file),
      plan_(load_plan(plan_file)),
      decisions_(read_decisions(plan_.decisions)),
      files_(plan_.build / "cpize-files.txt"),
      keys_(std::make_unique<Keys>(plan_, decisions_, files_)),
      store_(plan_.evidence_dir),
      collected_(plan_.collected_evidence),
      machine_(Machine::here(plan_)) {}

void Tree::refresh() {
  plan_ = load_plan(plan_file_);
  decisions_ = read_decisions(plan_.decisions);
  files_.forget();
  keys_ = std::make_unique<Keys>(plan_, decisions_, files_);
  collected_ = CollectedEvidence(plan_.collected_evidence);
  machine_ = Machine::here(plan_);
  verdicts_.clear();
  roots_.clear();
}

const Verdict& Tree::own(const std::string& id) {
  if (const auto it = verdicts_.find(id); it != verdicts_.end()) return it->second;
  return verdicts_[id] = judge(plan_.at(id));
}

Verdict Tree::judge(const Task& t) {
  Verdict v;
  v.wanted = t.cells;
  const auto is = [&](Verdict::Kind kind, std::string why) {
    v.kind = kind;
    v.why = std::move(why);
    return v;
  };
  if (t.verb.empty()) return is(Verdict::kNoCode, fmt::format("no code yet (declared at {})", t.where));
  if (t.cells.empty()) return is(Verdict::kRed, "the plan requires no cell of it: nothing would be proved");
  const Key& key = keys_->of(t.id);
  for (const auto& m : key.missing) {
    if (m == plan_.project_name(plan_.serial_lock.string())) {
      return is(Verdict::kRed, "the serial tree was never locked; run: cpize lock --update --why REASON");
    }
    if (!m.starts_with("<build>/")) return is(Verdict::kNoInput, fmt::format("input missing: {}", m));
  }
  if (!key.macros.empty() && t.inputs.empty()) {
    return is(Verdict::kRed, fmt::format("cannot follow {}; name the header in INPUTS", key.macros[0]));
  }
  const json attempt = json::parse(read_file(attempt_file(t.id)).value_or(""), nullptr, false);
  const bool failed = attempt.is_object() && attempt.value("key", std::string()) == key.id;
  const auto evidence = evidence_for(t.id, key.id);
  v.wanted.clear();
  std::string red, missing, hardware;
  for (const auto& name : t.cells) {
    const Cell* best = nullptr;
    for (const auto& e : evidence) {
      const auto c = e.cells.find(name);
      if (c != e.cells.end() && (!best || (c->second.judgement.ok && !best->judgement.ok))) best = &c->second;
    }
    if (best && best->judgement.ok) {
      v.cells[name] = *best;
      continue;
    }
    const std::string lacks = machine_.lacks_for(name);
    if (best && red.empty()) red = fmt::format("{} [{}]", best->judgement.why, name);
    if (lacks.empty()) v.wanted.push_back(name);
    if (best) continue;
    if (lacks.empty()) {
      missing += (missing.empty() ? "" : " ") + name;
      continue;
    }
    v.absent[name] = lacks;
    if (hardware.empty() && asks_for(plan_, name)) hardware = fmt::format("{} not measurable here: {}", name, lacks);
  }
  if (!v.absent.empty()) {
    std::set<std::string> old = store_.cells_of_other_keys(t.id, key.id);
    old.merge(collected_.cells_of_other_keys(t.id, key.id));
    for (const auto& [name, lacks] : v.absent)
      if (old.contains(name)) v.stale_absent.insert(name);
  }
  if (evidence.empty() && !v.wanted.empty()) {
    if (failed) return is(Verdict::kRed, attempt.value("why", std::string()));
    const std::string stale = why_stale(t, 0);
    return stale.empty() ? is(Verdict::kNever, "never measured") : is(Verdict::kStale, stale);
  }
  if (!red.empty()) return is(Verdict::kRed, red);
  if (failed) return is(Verdict::kRed, attempt.value("why", std::string()));
  if (!missing.empty()) return is(Verdict::kMissing, fmt::format("missing: not measured on {}", missing));
  if (!hardware.empty()) return is(Verdict::kNoInput, hardware);
  if (v.cells.empty())
    return is(Verdict::kNoInput, fmt::format("no cell of it can be measured here: {}", v.absent.begin()->second));
  if (std::string fault = artifact_fault(t, evidence); !fault.empty()) {
    v.wanted.clear();
    for (const auto& name : t.cells)
      if (machine_.lacks_for(name).empty()) v.wanted.push_back(name);
    return is(Verdict::kMissing, fault);
  }
  return is(Verdict::kGreen, "");
}

std::vector<Evidence> Tree::evidence_for(const std::string& task, const std::string& key) const {
  std::vector<Evidence> all = store_.load(task, key);
  for (auto& e : collected_.load(task, key)) all.push_back(std::move(e));
  return all;
}

std::string Tree::artifact_fault(const Task& t, const std::vector<Evidence>& evidence) {
  if (t.artifact.empty()) return "";
  const FileFacts* facts = files_.get((plan_.build / t.artifact).lexically_normal().string());
  if (!facts) return fmt::format("artifact missing: {}", t.artifact);
  const bool known = std::ranges::any_of(evidence, [&](const Evidence& e) { return e.artifact == facts->sha256; });
  return known ? "" : fmt::format("artifact changed since it was written: {}", t.artifact);
}

std::string Tree::why_stale(const Task& t, int depth) {
  const auto old = store_.newest_inputs(t.id);
  if (!old) return "";
  const auto in = keys_->inputs(t.id);
  std::vector<std::string> files, producers;
  for (const auto& [name, value] : in) {
    const auto it = old->find(name);
    if (it != old->end() && it->second == value) continue;
    if (name == "epoch") {
      const auto why = decisions_.reason.find(t.id);
      return fmt::format("reopened: {}", why == decisions_.reason.end() ? "" : why->second);
    }
    if (name.starts_with("producer ")) {
      producers.push_back(name.substr(9));
    } else {
      files.push_back(name + (it == old->end() ? " is new" : value == "absent" ? " is absent" : " changed"));
    }
  }
  for (const auto& [name, value] : *old) {
    if (!in.contains(name)) files.push_back(name + " is gone");
  }
  if (!files.empty()) {
    return fmt::format("stale: {}{}", files[0],
                       files.size() > 1 ? fmt::format(" (and {} more)", files.size() - 1) : "");
  }
  for (const auto& p : producers) {  // name the root, not the middle man
    if (depth > 64) break;
    const Verdict& v = own(p);
    if (v.kind != Verdict::kStale) continue;
    const std::size_t colon = v.why.find(": ");
    if (v.why.starts_with("reopened")) return fmt::format("stale through {}: {}", p, v.why);
    if (v.why.starts_with("stale through")) return v.why;
    return fmt::format("stale through {}: {}", p, colon == std::string::npos ? v.why : v.why.substr(colon + 2));
  }
  if (!producers.empty()) return fmt::format("stale: the producer {} changed", producers[0]);
  return "stale: its evidence is damaged or was judged under older rules";
}

const std::optional<Root>& Tree::root(const std::string& id) {
  if (const auto it = roots_.find(id); it != roots_.end()) return it->second;
  const Task& t = plan_.at(id);
  std::optional<Root> found;
  for (const auto* edges : {&t.implicit, &t.depends}) {
    for (const auto& d : *edges) {
      if (!found && plan_.at(d).in_scope) found = root(d);
    }
  }
  if (!found) {
    if (const Verdict& v = own(id); !v.green()) found = Root{id, v.why};
  }
  return roots_[id] = found;
}

fs::path Tree::attempt_file(const std::string& id) const { return plan_.logs() / (id + ".attempt.json"); }

void Tree::note_attempt(const std::string& id, const std::string& why) const {
  write_atomically(attempt_file(id), to_text(json{{"key", keys_->of(id).id}, {"why", why}, {"when", now()}}) + "\n");
}

void Tree::clear_attempt(const std::string& id) const {
  std::error_code e;
  fs::remove(attempt_file(id), e);
}

}  // namespace cpize::tool
