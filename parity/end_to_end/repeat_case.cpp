// Phase 5: the same step twice gives the same bits on every rank. The control adds noise from the clock.
#include <ATen/ATen.h>

#include <chrono>

#include "parity/end_to_end/haemoglobin_trunk.hpp"
#include "parity/harness/execute.hpp"
#include "parity/harness/property_case.hpp"

using namespace cpize;
using namespace cpize::parity;

namespace {

/// One rank's part of forward and backward; `noise` is added to the weights first.
Tensors step(const BlockCase& block, const SerialRun& serial, const MeshPtr& mesh, double noise) {
  PortedBlock port = block.make_port(serial.run.sizes);
  copy_parameters(serial.block.module.get(), port.module.get(), block.name());
  if (noise != 0) {
    at::NoGradGuard no_grad;
    for (auto& p : port.module->parameters()) p.add_(noise);
  }
  const AnySharded z = port.forward(shard_inputs(block, serial.inputs, mesh))["z"];
  z.local().backward(seed_for(z.spec(), z.global(), *mesh, serial.output_gradients["z"]));
  Tensors result{{"z", z.local().detach()}};
  for (const auto& p : port.module->named_parameters())
    if (p.value().grad().defined()) result.set("gradient " + p.key(), p.value().grad());
  return result;
}

PropertyCase repeat() {
  const auto block = std::make_shared<BlockCase>(haemoglobin_trunk());
  const auto runs = std::make_shared<std::map<std::string, SerialRun>>();
  for (const char* mesh : {"1x1x1", "2x1x1"})  // one and two samples; the inputs do not depend on cp
    runs->emplace(mesh, run_serial(*block, haemoglobin_run(*block, MeshShape::parse(mesh), 3, 40)));
  const auto serial = [runs](const MeshPtr& mesh) -> const SerialRun& {
    return runs->at(mesh->shape().extent(Axis::dp) == 1 ? "1x1x1" : "2x1x1");
  };
  return PropertyCase("repeat")
      .repeat([=](const MeshPtr& mesh) { return step(*block, serial(mesh), mesh, 0); })
      .negative_control([=](const MeshPtr& mesh) {
        const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
        return step(*block, serial(mesh), mesh, 1e-6 * static_cast<double>(1 + ticks % 1'000'003));
      });
}

}  // namespace

CPIZE_PROPERTY_MAIN(repeat)
