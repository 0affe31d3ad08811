// Parity of activation checkpointing: a stack of two layers with dropout, each recomputed in backward, against serial;
// and against the same stack run directly: the same bits, a lower peak.
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "parity/harness/bits.hpp"
#include "parity/harness/block_parity.hpp"
#include "parity/harness/execute.hpp"
#include "parity/harness/parameters.hpp"
#include "parity/harness/peak_bytes.hpp"
#include "parity/harness/ranks.hpp"
#include "parity/trunk/checkpointing/checkpointed_stack.hpp"
#include "parity/trunk/triangle_case.hpp"
#include "random/draw.hpp"

namespace cpize::parity {
namespace {

const random::Stream root(17, "stack", 4);

/// Dropout's factors are fp32 at least, and so is z behind the first of them: its bytes, in those of an activation.
double widened(double element_bytes) { return std::max(4.0, element_bytes) / element_bytes; }

/// What a layer saves when it runs directly: the operands of the triangle multiplication (a rank with c channels has
/// 2 c Q / C b of them), its sums, its input and the transition's.
double saved_by_a_layer(const CostPoint& p) {
  const double channels = static_cast<double>(p.sizes["C"]);
  return (2 * std::ceil(channels / p.q()) * p.q() / channels + 3 * widened(p.element_bytes)) * p.b();
}

BlockCase activation_checkpointing() {
  constexpr double layers = PortedStack::kLayers;
  return BlockCase("activation_checkpointing")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Pair>("mask", {"B", "N", "N"})
      .output("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .serial([](const Sizes& s) { return std::make_shared<SerialStack>(s["C"]); },
              [](auto& stack, const Tensors& in) {
                const serial::Dropout dropout(random::uniform_source(root, in["z"].device()));
                return Tensors{{"z", run_stack(*stack, in["z"], in["mask"], dropout)}};
              })
      .port([](const Sizes& s) { return std::make_shared<PortedStack>(s["C"]); },
            [](auto& stack, const ShardedTensors& in) {
              return ShardedTensors{{"z", run_stack(*stack, in.get<Pair>("z"), in.get<Pair>("mask"),
                                                    trunk::Dropout(root), /*checkpointed=*/true)}};
            })
      .contraction({"C", "N", "C", "C", "C", "C", "C", "C", "C", "C", "N", "C", "C", "C", "C", "C", "C", "C"})
      .precision_size({{"N", 37}, {"C", 32}})
      .cost_size({{"N", 96}, {"C", 32}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return layers * triangle_bytes(p, 2, 1); })
      .bound("sent_bytes.backward",
             [](const CostPoint& p) { return layers * (triangle_bytes(p, 2, 1) + triangle_bytes(p, 1, 2)); })
      .bound("saved_bytes", [](const CostPoint& p) { return (layers - 1) * widened(p.element_bytes) * p.b() + 8192; })
      // The inputs of the later layers, one layer's saved tensors, 4 b of working memory and gradients, the gradients
      // of 18 C C weights a layer.
      .bound("peak_bytes.step", [](const CostPoint& p) {
        const double channels = static_cast<double>(p.sizes["C"]), wide = widened(p.element_bytes);
        return (layers - 1 + 4) * wide * p.b() + saved_by_a_layer(p) +
               layers * 18 * channels * channels * wide * p.element_bytes + 8192;
      });
}

/// A leaf that got no gradient has a zero one: it will differ.
at::Tensor gradient_of(const at::Tensor& leaf) {
  return leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf.detach());
}

/// What both stacks are given: full inputs, weights and the output's gradient.
struct Given {
  Run run;
  SerialBlock weights;
  Tensors inputs;
  at::Tensor gradient;
};

/// One step on this rank: the bits of everything that comes out, and what it held.
RankReport step(const BlockCase& block, const Given& given, const Setting& setting, const MeshPtr& mesh,
                bool checkpointed) {
  PortedStack stack(given.run.sizes["C"]);
  copy_parameters(given.weights.module.get(), &stack, block.name(),
                  at::TensorOptions(setting.device()).dtype(setting.wide()));
  const ShardedTensors in = shard_inputs(block, given.inputs, mesh, setting);
  PeakBytes held(setting.device());
  const auto once = [&](RankReport& report) {
    for (auto& p : stack.parameters()) p.mutable_grad().reset();
    at::Tensor(in["z"].local()).mutable_grad().reset();
    at::Tensor seed;
    held.reset();
    at::Tensor z;
    {
      const AutocastScope autocast(setting);
      z = run_stack(stack, in.get<Pair>("z"), in.get<Pair>("mask"), trunk::Dropout(root), checkpointed).local();
    }
    report.numbers["saved_bytes"] = static_cast<double>(held.current()) - static_cast<double>(z.nbytes());
    seed = seed_for(Pair::spec, in["z"].global(), *mesh, given.gradient).to(z.options());
    z.backward(seed);
    report.numbers["peak_bytes.step"] = static_cast<double>(held.peak());
    report.tensors["output z"] = z.detach();
    report.tensors["input gradient z"] = gradient_of(in["z"].local());
    for (const auto& p : stack.named_parameters()) report.tensors["gradient " + p.key()] = gradient_of(p.value());
  };
  RankReport report;
  if (setting.device_type != at::kCPU) once(report);  // libraries take their work spaces
  once(report);
  return report;
}

/// Large enough that constants do not matter; on a GPU at a width where fused kernels take part.
Given direct_run(const BlockCase& block, const Setting& setting) {
  Given given{{"direct", block.sizes(), MaskKind::random, 0}, {}, {}, {}};
  Run& run = given.run;
  for (const auto& [letter, value] : block.cost_sizes()) run.sizes.set(letter, value);
  if (setting.device_type != at::kCPU) {
    run.sizes.set("N", 2 * run.sizes["N"]);
    run.sizes.set("C", block.fused_sizes()["C"]);
  }
  run.sizes.set("B", setting.mesh.extent(Axis::dp));
  run.valid_tokens = run.sizes["N"];
  given.weights = block.make_serial(run.sizes);
  perturb(*given.weights.module, block.name());
  given.inputs = make_inputs(block, run, Padding::random, setting);
  at::Generator g = generator_for("direct output gradient");
  given.gradient = at::randn(given.inputs["z"].sizes(), g, at::kDouble);
  return given;
}

/// On how many ranks each tensor has other bits in `b` than in `a`.
std::map<std::string, int> ranks_that_differ(const std::vector<RankReport>& a, const std::vector<RankReport>& b) {
  std::map<std::string, int> ranks;
  for (std::size_t rank = 0; rank < a.size(); ++rank)
    for (const auto& [name, tensor] : a[rank].tensors)
      ranks[name] += same_bits(tensor, b[rank].tensors.at(name)) ? 0 : 1;
  return ranks;
}

std::map<std::string, double> busiest(const std::vector<RankReport>& reports) {
  std::map<std::string, double> most;
  for (const auto& report : reports)
    for (const auto& [name, value] : report.numbers) most[name] = std::max(most[name], value);
  return most;
}

/// Adds to `cell` how the checkpointed stack differs from the direct one: no bit, and a lower peak. Two direct runs
/// differ in no bit either, or nothing could be said.
void compare_with_direct(const BlockCase& block, const Setting& setting, Cell& cell) {
  const Given given = direct_run(block, setting);
  const auto run = [&](bool checkpointed) {
    return on_every_rank(setting, [&](const MeshPtr& mesh) { return step(block, given, setting, mesh, checkpointed); });
  };
  const auto direct = run(false), again = run(false), checkpointed = run(true);
  for (const auto& [name, ranks] : ranks_that_differ(direct, again))
    cell.difference({"ranks whose bits differ between direct runs: " + name, double(ranks), 0, ""});
  for (const auto& [name, ranks] : ranks_that_differ(direct, checkpointed))
    cell.difference({"ranks whose bits differ from a direct run: " + name, double(ranks), 0, ""});

  auto held = busiest(direct), held_checkpointed = busiest(checkpointed);
  for (const auto& [name, value] : held) cell.counter("direct." + name, value);
  // One layer's saved tensors are not there when the other's backward runs; the second input and a gradient more are.
  const double bytes = static_cast<double>(c10::elementSize(setting.dtype));
  const double b = widened(bytes) * CostPoint{given.run.sizes, setting.mesh, bytes}.b();
  const double layer = held["saved_bytes"] / PortedStack::kLayers;
  cell.counter("checkpointed.saved_bytes", held_checkpointed["saved_bytes"], held["saved_bytes"] - layer);
  cell.counter("checkpointed.peak_bytes.step", held_checkpointed["peak_bytes.step"],
               held["peak_bytes.step"] - layer + 2 * b);
}

Measurement measure(const Request& request) {
  const BlockCase block = activation_checkpointing();
  Measurement measurement = measure_block(block, request);
  for (const auto& name : request.cells)
    compare_with_direct(block, Setting::of(CellName::parse(name)), measurement.cell(name));
  return measurement;
}

const RegisterCases registered({activation_checkpointing});

}  // namespace
}  // namespace cpize::parity

/// Weak, as CPIZE_PARITY_MAIN's: a program of many case files brings its own.
__attribute__((weak)) int main(int argc, char** argv) {
  return cpize::parity::run_ranked_program(argc, argv, cpize::parity::measure);
}
