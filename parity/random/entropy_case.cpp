// Phase 5: entropy of draws and of dropout. Shared along mesh axes whose ranks hold the same data, independent along
// the others, the serial model's numbers everywhere, the right distribution. Controls: a generator seeded alike on
// every rank (must look dependent), and one seeded by rank (must differ where the data is the same).
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "layout/box.hpp"
#include "parity/harness/assemble.hpp"
#include "parity/harness/bits.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/property_case.hpp"
#include "parity/random/draws.hpp"
#include "parity/random/entropy.hpp"
#include "random/draw.hpp"
#include "serial/dropout.hpp"
#include "trunk/dropout.hpp"

namespace cpize::parity {
namespace {

constexpr std::int64_t kBatch = 2, kTokens = 3600, kRows = 4500;
constexpr double kRate = 0.25;

const random::Stream root(77, "entropy", 1);

template <class L>
Draw normal_draw(const std::string& name, const Shape& shape) {
  const random::Stream stream = root.child(name);
  return {"normal " + name, L::spec, shape,
          [=](const MeshPtr& mesh) { return random::normal<L>(stream, shape, mesh, at::kDouble).local(); },
          random::normal(stream, shape, at::kDouble)};
}

/// This rank's part of an activation that takes no memory: only its shape is read.
template <class L>
Sharded<L> shape_alone(const Shape& global, const MeshPtr& mesh) {
  const Box box = box_of(L::spec, global, mesh->shape(), mesh->coordinates());
  return wrap<L>(at::zeros({}, at::kDouble).expand(box.size), global, mesh);
}

/// The factors of dropout on activations `activation` in layout L; `cut` says how the factors are cut.
template <class L>
Draw dropout_draw(const std::string& name, const Shape& activation, bool rows, const Spec& cut) {
  const trunk::Dropout here(root);
  const serial::Dropout there(random::uniform_source(root));
  Shape factor = activation;
  for (std::size_t d = 1; d < factor.size(); ++d)
    if (d != (rows ? 1 : 2)) factor[d] = 1;
  const at::Tensor ones = at::ones(factor, at::kDouble);
  return {"dropout " + name, cut, factor,
          [=](const MeshPtr& mesh) {
            const Sharded<L> x = shape_alone<L>(activation, mesh);
            return rows ? here.row_factor(x, kRate, name) : here.column_factor(x, kRate, name);
          },
          rows ? there.rows(ones, kRate, name) : there.columns(ones, kRate, name)};
}

std::vector<Draw> all_draws() {
  constexpr Spec by_column = make_spec({On<dp>::cut, On<>::cut, On<cp1>::cut});
  return {normal_draw<Single>("single", {kBatch, kTokens, 2}),
          normal_draw<SingleRow>("single_row", {kBatch, kTokens}),
          normal_draw<SingleCol>("single_col", {kBatch, kTokens}),
          normal_draw<Pair>("pair", {kBatch, 120, 120, 2}),
          normal_draw<PairByCol>("pair_by_col", {kBatch, 120, 120}),
          normal_draw<Msa>("msa", {kBatch, 180, 60, 2}),
          normal_draw<Atom>("atom", {kBatch, kRows, 3}),
          normal_draw<Whole<TokenSingle>>("whole", {kBatch, kTokens}),
          dropout_draw<Pair>("tri_att_start", {kBatch, kTokens, kTokens, 4}, true, SingleRow::spec),
          dropout_draw<Pair>("tri_att_end", {kBatch, kTokens, kTokens, 4}, false, by_column),
          dropout_draw<Msa>("pair_weighted_averaging", {kBatch, kRows, kTokens, 4}, true, Single::spec)};
}

const std::vector<MeshShape>& meshes() {
  static const std::vector<MeshShape> all{{1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {1, 2, 2},
                                          {1, 2, 3}, {1, 3, 3}, {2, 1, 2}, {2, 2, 2}};
  return all;
}

/// Uniform numbers of the part's shape from a generator of torch's, seeded as `seed` says.
std::function<at::Tensor(const MeshPtr&)> generator_instead(const Draw& draw,
                                                            const std::function<std::uint64_t(int rank)>& seed) {
  return [=](const MeshPtr& mesh) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed(mesh->rank()));
    return at::rand(box_of(draw.spec, draw.global, mesh->shape(), mesh->coordinates()).size, generator, at::kDouble);
  };
}

/// Why the draws of two runs on the cell's own ranks, or of any mesh put together, are not the serial model's; empty if
/// they are.
std::string other_bits(const std::vector<Draw>& draws, const Setting& setting) {
  const auto all_parts = [&](const MeshPtr& mesh) {
    Tensors parts;
    for (const auto& draw : draws) parts.set(draw.name, draw.part(mesh));
    return parts;
  };
  if (const std::string why = repeat_differs(all_parts, setting); !why.empty()) return why;
  for (const auto& draw : draws)
    for (const auto& mesh : meshes())
      if (!same_bits(assemble(parts_on(mesh, draw.part), draw.spec, draw.global, mesh), draw.whole))
        return draw.name + " on " + mesh.str() + " is not what the serial model draws";
  return "";
}

std::string unseen_control(const std::vector<Draw>& draws) {
  for (const auto& mesh : meshes()) {
    if (mesh.size() == 1) continue;
    for (const auto& draw : draws) {
      Entropy alike, by_rank;
      judge_entropy(draw, parts_on(mesh, generator_instead(draw, [](int) { return 7; })), mesh, alike);
      judge_entropy(draw, parts_on(mesh, generator_instead(draw, [](int rank) { return 7 + rank; })), mesh, by_rank);
      const std::string where = draw.name + " on " + mesh.str();
      if (alike.independent_that_agree != alike.independent_pairs)
        return "a generator seeded alike on every rank passed for independent, " + where;
      if (by_rank.shared_that_differ != by_rank.shared_pairs)
        return "a generator seeded by rank passed for shared, " + where;
    }
  }
  return "";
}

void add_distributions(const std::vector<Draw>& draws, Cell& cell) {
  for (const auto& draw : draws) {
    const at::Tensor x = draw.whole.to(at::kDouble);
    const double n = static_cast<double>(x.numel());
    if (draw.name.starts_with("normal")) {
      cell.difference({"distribution of " + draw.name, kolmogorov(x, normal_cdf), 2.3,
                       "Kolmogorov's statistic, exceeded once in 20,000 samples"});
    } else {
      const double dropped = x.eq(0).sum().item<double>();
      cell.difference({"rate of " + draw.name, std::fabs(dropped - n * kRate) / std::sqrt(n * kRate * (1 - kRate)), 5,
                       "standard errors of a binomial count, exceeded once in two million"});
      const at::Tensor kept = x.masked_select(x.ne(0));
      cell.difference({"scale of " + draw.name, (kept - 1 / (1 - kRate)).abs().max().item<double>(), 0, ""});
    }
  }
}

Measurement measure(const Request& request) {
  const std::vector<Draw> draws = all_draws();
  Measurement m("property");
  describe_environment(m);
  for (const auto& name : request.cells) {
    const CellName cell_name = CellName::parse(name);
    cell_name.require_fp64_cpu();
    const Setting setting = Setting::of(cell_name);
    Cell& cell = m.cell(name);
    Entropy found;
    for (const auto& mesh : meshes())
      for (const auto& draw : draws) judge_entropy(draw, parts_on(mesh, draw.part), mesh, found);
    cell.difference({"ranks with the same data that draw other numbers", double(found.shared_that_differ), 0, ""});
    cell.difference({"correlation between ranks with different data", found.worst_correlation, kCorrelationBound,
                     "standard errors, exceeded by one pair in two million"});
    cell.counter("pairs.shared", found.shared_pairs);
    cell.counter("pairs.independent", found.independent_pairs);
    add_distributions(draws, cell);
    cell.fact("repeat_bit_identical", fact_unless(other_bits(draws, setting)));
    cell.fact("negative_control_caught", fact_unless(unseen_control(draws)));
  }
  return m;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_ranked_program(argc, argv, cpize::parity::measure); }
