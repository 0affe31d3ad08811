// cpize plan --verify: the order computed a second time, from the definitions and with other data structures than
// CMake's.
//
// CMake walks a topological order with sets of names; here reachability is a bit matrix closed under composition,
// levels and chains come from repeated relaxation, and the rank from a comparison of tuples.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "commands.hpp"
#include "errors.hpp"

namespace cpize::tool {
namespace {

class BitMatrix {
 public:
  explicit BitMatrix(std::size_t n) : words_((n + 63) / 64), bits_(n * words_) {}
  void set(std::size_t row, std::size_t column) {
    bits_[row * words_ + column / 64] |= std::uint64_t{1} << (column % 64);
  }
  bool get(std::size_t row, std::size_t column) const { return bits_[row * words_ + column / 64] >> (column % 64) & 1; }
  void add_row(std::size_t to, std::size_t from) {
    for (std::size_t w = 0; w < words_; ++w) bits_[to * words_ + w] |= bits_[from * words_ + w];
  }
  int count(std::size_t row) const {
    int n = 0;
    for (std::size_t w = 0; w < words_; ++w) n += std::popcount(bits_[row * words_ + w]);
    return n;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

struct Computed {
  int wave = 0, rank = 0, fan_in = 0, direct = 0, chain = 0;
};

class Second {
 public:
  explicit Second(const Plan& plan) : plan_(plan), n_(plan.tasks.size()), consumers_(n_), computed_(n_) {
    for (std::size_t i = 0; i < n_; ++i) {
      for (const auto& d : plan_.tasks[i].depends) {
        edges_.emplace(plan_.index.at(d), i);
      }
    }
    reach();
    levels();
    chains();
    ranks();
  }
  const Computed& of(std::size_t i) const { return computed_[i]; }
  bool reaches(std::size_t from, std::size_t to) const { return consumers_.get(from, to); }
  int waves() const { return waves_; }

 private:
  bool counts(const std::pair<std::size_t, std::size_t>& e) const {
    return plan_.tasks[e.first].in_scope && plan_.tasks[e.second].in_scope;
  }
  // Warshall: if a reaches b, a reaches all that b reaches
  void reach() {
    for (const auto& e : edges_) {
      if (counts(e)) consumers_.set(e.first, e.second);
    }
    for (std::size_t b = 0; b < n_; ++b) {
      for (std::size_t a = 0; a < n_; ++a) {
        if (consumers_.get(a, b)) consumers_.add_row(a, b);
      }
    }
    for (std::size_t i = 0; i < n_; ++i) computed_[i].fan_in = consumers_.count(i);
    for (const auto& e : edges_) computed_[e.first].direct += counts(e) ? 1 : 0;
  }
  void levels() {
    std::vector<int> level(n_, 0);
    for (bool again = true; again;) {
      again = false;
      for (const auto& e : edges_) {
        if (!counts(e) || plan_.tasks[e.first].phase != plan_.tasks[e.second].phase) continue;
        if (level[e.second] <= level[e.first]) level[e.second] = level[e.first] + 1, again = true;
      }
    }
    std::map<int, int> height;  // of a phase
    for (std::size_t i = 0; i < n_; ++i) {
      if (!plan_.tasks[i].in_scope) continue;
      int& h = height[plan_.tasks[i].phase];
      h = std::max(h, level[i] + 1);
    }
    for (std::size_t i = 0; i < n_; ++i) {
      int before = 0;
      for (const auto& [phase, h] : height) before += phase < plan_.tasks[i].phase ? h : 0;
      computed_[i].wave = before + level[i] + 1;
    }
    for (const auto& [phase, h] : height) waves_ += h;
  }
  void chains() {
    for (bool again = true; again;) {
      again = false;
      for (const auto& e : edges_) {
        if (!counts(e)) continue;
        int& chain = computed_[e.first].chain;
        if (chain <= computed_[e.second].chain) chain = computed_[e.second].chain + 1, again = true;
      }
    }
  }
  void ranks() {
    const std::set<std::string> focus(plan_.focus.begin(), plan_.focus.end());
    const std::map<std::string, int> kinds{{"reuse", 0}, {"adapt", 1}, {"new", 2}};
    const std::map<std::string, int> risks{{"high", 0}, {"medium", 1}, {"low", 2}};
    const auto place = [](const std::map<std::string, int>& m, const std::string& s) {
      const auto it = m.find(s);
      return it == m.end() ? 9 : it->second;
    };
    const auto order = [&](std::size_t i) {
      const Task& t = plan_.tasks[i];
      const Computed& c = computed_[i];
      const bool seed = focus.contains(t.id) || focus.contains(t.subsystem);
      return std::tuple(c.wave, !seed, place(kinds, t.kind), place(risks, t.risk), -c.fan_in, -c.direct, -c.chain,
                        t.effort, t.id);
    };
    std::vector<std::size_t> v;
    for (std::size_t i = 0; i < n_; ++i) {
      if (plan_.tasks[i].in_scope) v.push_back(i);
    }
    std::sort(v.begin(), v.end(), [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
    for (std::size_t r = 0; r < v.size(); ++r) computed_[v[r]].rank = static_cast<int>(r) + 1;
  }

  const Plan& plan_;
  std::size_t n_;
  std::set<std::pair<std::size_t, std::size_t>> edges_;  // producer, consumer
  BitMatrix consumers_;
  std::vector<Computed> computed_;
  int waves_ = 0;
};

std::vector<std::string> check_order(const Plan& plan, const Second& second) {
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& t = plan.tasks[i];
    if (!t.in_scope) continue;
    const Computed& c = second.of(i);
    const auto compare = [&](const char* what, int configured, int computed) {
      if (configured != computed)
        faults.push_back(fmt::format("{}: {} is {} in the plan, computed {}", t.id, what, configured, computed));
    };
    compare("wave", t.wave, c.wave);
    compare("rank", t.rank, c.rank);
    compare("fan_in", t.fan_in, c.fan_in);
    compare("direct", t.direct, c.direct);
    compare("chain", t.chain, c.chain);
  }
  return faults;
}

// everything at or above a set of tasks, the implicit edges included
std::set<std::string> upstream(const Plan& plan, std::vector<std::string> todo) {
  std::set<std::string> seen;
  while (!todo.empty()) {
    const std::string id = std::move(todo.back());
    todo.pop_back();
    if (!seen.insert(id).second) continue;
    const Task& t = plan.at(id);
    todo.insert(todo.end(), t.depends.begin(), t.depends.end());
    todo.insert(todo.end(), t.implicit.begin(), t.implicit.end());
  }
  return seen;
}

std::vector<std::string> check_edges(const Plan& plan, const Second& second) {
  std::vector<std::string> faults;
  bool proofs = false;
  for (const auto& t : plan.tasks) proofs = proofs || (t.in_scope && t.phase == 5);
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& t = plan.tasks[i];
    if (!t.in_scope) continue;
    for (const auto& d : t.depends) {
      const Task& p = plan.at(d);
      if (!p.in_scope) faults.push_back(fmt::format("{} depends on {}, which is out of scope", t.id, d));
      if (p.phase > t.phase)
        faults.push_back(fmt::format("{} (phase {}) depends on {} of phase {}", t.id, t.phase, d, p.phase));
    }
    for (const auto& d : t.implicit) {
      if (plan.at(d).phase > 1)
        faults.push_back(fmt::format("{}: the implicit edge to {} leads to phase {}", t.id, d, plan.at(d).phase));
    }
    if (t.phase >= 2) {
      const auto above = upstream(plan, {t.id});
      for (const auto& g : plan.tasks) {
        const bool wanted = g.in_scope && g.phase <= 1 && !above.contains(g.id);
        if (wanted) faults.push_back(fmt::format("{} lacks an edge to the gate {} of phase {}", t.id, g.id, g.phase));
      }
    }
    // a focus leaves the proofs downstream of it out of scope; the rule is about the whole plan
    if (proofs && plan.focus.empty() && t.phase >= 2 && t.phase <= 4) {
      bool needed = false;
      for (std::size_t k = 0; k < plan.tasks.size(); ++k) {
        needed = needed || (plan.tasks[k].phase == 5 && second.reaches(i, k));
      }
      if (!needed) faults.push_back(fmt::format("nothing of phase 5 proves {}", t.id));
    }
  }
  for (const int phase : {6, 7}) {
    bool used = false;
    for (const auto& t : plan.tasks) used = used || (t.in_scope && t.phase >= phase);
    const auto it = plan.barriers.find(phase);
    if (it == plan.barriers.end()) {
      if (used) faults.push_back(fmt::format("the plan has no barrier before phase {}", phase));
      continue;
    }
    for (const auto& id : it->second) {
      if (plan.at(id).phase >= phase)
        faults.push_back(
            fmt::format("the barrier before phase {} waits for {} of phase {}", phase, id, plan.at(id).phase));
    }
    const auto covered = upstream(plan, it->second);
    for (const auto& t : plan.tasks) {
      if (t.in_scope && t.phase < phase && !covered.contains(t.id)) {
        faults.push_back(fmt::format("the barrier before phase {} does not wait for {}", phase, t.id));
      }
    }
  }
  return faults;
}

}  // namespace

int verify_plan(const Plan& plan) {
  const Second second(plan);
  auto faults = check_order(plan, second);
  const auto edges = check_edges(plan, second);
  faults.insert(faults.end(), edges.begin(), edges.end());
  for (std::size_t i = 0; i < faults.size() && i < 20; ++i) fmt::print("{}\n", faults[i]);
  if (faults.size() > 20) fmt::print("... and {} more\n", faults.size() - 20);
  fmt::print("plan {}: {} tasks, {} in scope, {} waves: {}\n", plan.name, plan.tasks.size(), plan.ranked().size(),
             second.waves(), faults.empty() ? "agrees" : fmt::format("DIFFERS in {} places", faults.size()));
  return faults.empty() ? kDone : kFailed;
}

}  // namespace cpize::tool
