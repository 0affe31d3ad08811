// The demo: the trunk on haemoglobin alpha with its alignment, on a 2x2 mesh of ranks, beside the serial model.
//
// Everything shown is measured in this run: differences against serial with their tolerances, bytes that the busiest
// rank sends against the bound and against the published implementation, and peak bytes a rank against serial's.
#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "error/error.hpp"
#include "parity/end_to_end/haemoglobin_trunk.hpp"
#include "parity/harness/compare.hpp"
#include "parity/harness/cost.hpp"
#include "parity/harness/execute.hpp"
#include "parity/trunk/triangle_case.hpp"
#include "trunk/tri_mul_out.hpp"

using namespace cpize;
using namespace cpize::parity;

namespace {

constexpr double kMiB = 1 << 20;

double counter(const Cell& cell, const std::string& name) {
  for (const auto& c : cell.counters())
    if (c.name == name) return c.value;
  throw ContractError("the demo looks for the counter '" + name + "', which nothing measured");
}

/// Prints one kind of difference: how many tensors, the one nearest to its tolerance. Returns whether all are within.
bool show_differences(const std::vector<Difference>& all, const std::string& prefix, const std::string& what) {
  const Difference* worst = nullptr;
  int count = 0;
  bool within = true;
  for (const auto& d : all) {
    if (d.name.rfind(prefix, 0) != 0) continue;
    ++count;
    within &= d.difference <= d.tolerance;
    if (!worst || d.difference * worst->tolerance > worst->difference * d.tolerance) worst = &d;
  }
  if (worst)
    fmt::print("  {:<26} {:>10.1e} {:>11.1e}   {:<6} {}\n", fmt::format(fmt::runtime(what), count), worst->difference,
               worst->tolerance, within ? "equal" : "NOT",
               count > 1 ? "worst: " + worst->name.substr(prefix.size()) : "");
  return within;
}

/// The cells in which a row of the distogram puts most of its weight, as distances: what a person would look at.
double mean_expected_bin(const at::Tensor& logits) {
  const at::Tensor p = logits.squeeze(-2).softmax(-1);
  return (p * at::arange(p.size(-1), p.options())).sum(-1).mean().item<double>();
}

int run(const MeshShape& mesh) {
  const SmallTrunk small{.recycling_steps = 1};
  const BlockCase trunk = haemoglobin_trunk(small);
  const Run protein = haemoglobin_run(trunk, mesh, 0);
  const std::int64_t tokens = protein.sizes["N"], channels = protein.sizes["C"];
  fmt::print("\nCPize: haemoglobin alpha (1a00, chain A), {} tokens and {} rows of its alignment, through the trunk,\n",
             tokens, protein.sizes["S"]);
  fmt::print("forward and backward, fp64\n");
  fmt::print(
      "  features -> input embedding, pair initialisation -> {} x (recycling, MSA module, {} pairformer layers)\n"
      "  -> s, z, distogram, b-factors   (widths {} and {})\n",
      small.recycling_steps + 1, protein.sizes["blocks"], protein.sizes["token_s"], channels);
  const auto part = [&](Axis axis) { return (tokens + mesh.extent(axis) - 1) / mesh.extent(axis); };
  fmt::print("  mesh {}: {} ranks as threads; z is [{} x {} x {}], a rank holds about {} x {} of its pairs\n",
             mesh.str(), mesh.size(), tokens, tokens, channels, part(Axis::cp0), part(Axis::cp1));

  const SerialRun serial = run_serial(trunk, protein);
  const PortRun port = run_port(trunk, serial, mesh, serial.inputs, serial.output_gradients);
  const auto differences = compare(trunk, serial, port.results);
  fmt::print("\nEqual to the serial model?   difference   tolerance\n");
  bool equal = true;
  for (const auto& [output, name] : {std::pair{"output s", "s"},
                                     {"output z", "z"},
                                     {"output pdistogram", "distogram"},
                                     {"output bfactor", "b-factors"}})
    equal &= show_differences(differences, output, name);
  equal &= show_differences(differences, "gradient ", "{} parameter gradients");
  fmt::print("  mean expected distance bin {:>10.6f} {:>11.6f}   (serial, mesh)\n",
             mean_expected_bin(serial.results.outputs["pdistogram"]),
             mean_expected_bin(port.results.outputs["pdistogram"]));

  Cell block_cost, trunk_cost;
  BlockCase triangle = triangle_case<trunk::TriMulOut>("tri_mul_out", serial::TriangleDirection::outgoing);
  measure_cost(triangle.cost_size({{"N", tokens}, {"C", channels}}), mesh, block_cost);
  BlockCase whole = haemoglobin_trunk(small);
  measure_cost(whole.cost_size({{"N", tokens}}), mesh, trunk_cost);

  const CostPoint point{[&] {
                          Sizes s = protein.sizes;
                          s.set("B", mesh.extent(Axis::dp));
                          return s;
                        }(),
                        mesh};
  const double sent = counter(block_cost, "sent_bytes.forward");
  // b is the largest shard: 141 tokens do not divide evenly, and the busiest rank is the one that holds most.
  const double b = static_cast<double>(part(Axis::cp0) * part(Axis::cp1) * channels) * point.element_bytes;
  const double bound = triangle_bytes(point, 2, 1) * b / point.b();
  fmt::print(
      "\nBytes that the busiest rank sends in one triangle multiplication, forward   (b = its shard of z = {:.2f} "
      "MiB)\n",
      b / kMiB);
  fmt::print("  measured                   {:>6.2f} MiB  = {:.2f} b\n", sent / kMiB, sent / b);
  fmt::print("  bound of this design       {:>6.2f} MiB  = {:.2f} b\n", bound / kMiB, bound / b);
  const double root = std::sqrt(static_cast<double>(mesh.cp_size()));
  if (root == std::floor(root))
    fmt::print("  published (2 sqrt Q + 1) b {:>6.2f} MiB  = {:.2f} b\n", (2 * root + 1) * b / kMiB, 2 * root + 1);
  else
    fmt::print("  published                  needs a square grid\n");

  fmt::print("\nPeak bytes above inputs, forward and backward     a rank       serial     ratio\n");
  for (const auto& [name, cost] :
       {std::pair{"triangle multiplication", &block_cost}, {"the whole trunk", &trunk_cost}}) {
    const double rank = counter(*cost, "peak_bytes.step"), alone = counter(*cost, "serial.peak_bytes.step");
    fmt::print("  {:<40} {:>10.1f} MiB {:>8.1f} MiB   1 : {:.1f}\n", name, rank / kMiB, alone / kMiB, alone / rank);
  }
  fmt::print("\n{}\n", equal ? "Equal to serial in every tensor." : "NOT equal to serial.");
  return equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2) throw ConfigError("usage: cpize-demo [mesh, as 2x2 or 2x3]");
    return run(argc == 2 ? MeshShape::parse(argv[1]) : MeshShape(1, 2, 2));
  } catch (const Error& e) {
    fmt::print(stderr, "cpize-demo: {}\n", e.what());
    return e.exit_code();
  } catch (const std::exception& e) {
    fmt::print(stderr, "cpize-demo: {}\n", e.what());
    return 1;
  }
}
