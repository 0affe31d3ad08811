// Phase 5: NaN in the padding of the features changes no bit of a valid result or of a gradient. The control lets the
// padding in (a mask of ones) and must be seen.
#include <ATen/ATen.h>

#include "error/error.hpp"
#include "parity/end_to_end/haemoglobin_trunk.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/execute.hpp"
#include "parity/harness/ranks.hpp"
#include "parity/harness/sabotage.hpp"

namespace cpize::parity {
namespace {

Measurement measure(const Request& request) {
  const BlockCase block = haemoglobin_trunk();
  Measurement m("property");
  describe_environment(m);
  for (const auto& name : request.cells) {
    const Setting setting = Setting::of(CellName::parse(name));
    const SerialRun serial = run_serial(block, haemoglobin_run(block, setting.mesh, 11, 40), setting);
    Cell& cell = m.cell(name);
    cell.fact("repeat_bit_identical", fact_unless(poison_changes(block, serial)));
    // Only numbers are let in: a wild class would stop a look-up before anything is seen.
    Tensors poisoned = make_inputs(block, serial.run, Padding::poison, setting);
    for (const auto& [input, x] : serial.inputs)
      if (!x.is_floating_point()) poisoned.set(input, x);
    const PortRun let_in = run_port(block, serial, setting, poisoned, serial.output_gradients,
                                    Spoil{.drop_parameter = {}, .ignore_mask = true});
    const bool seen = let_in.results.outputs["z"].isnan().any().item<bool>();
    cell.fact("negative_control_caught", fact_unless(seen ? "" : "padding that was let in changed nothing"));
    cell.counter("padded_tokens", static_cast<double>(serial.run.sizes["N"] - serial.run.valid_tokens));
  }
  return m;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_ranked_program(argc, argv, cpize::parity::measure); }
