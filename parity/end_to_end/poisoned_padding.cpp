// Phase 5: NaN in the padding of the features changes no bit of a valid result or of a gradient. The control lets the
// padding in (a mask of ones) and must be seen.
#include <ATen/ATen.h>

#include "error/error.hpp"
#include "parity/end_to_end/lysozyme_slice.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/execute.hpp"
#include "parity/harness/request.hpp"
#include "parity/harness/sabotage.hpp"

namespace cpize::parity {
namespace {

Measurement measure(const Request& request) {
  const BlockCase block = lysozyme_slice(64, 32);
  Measurement m("property");
  describe_environment(m);
  for (const auto& name : request.cells) {
    CellName::parse(name).require_threads_fp64_cpu();
    const MeshShape mesh = MeshShape::parse(CellName::parse(name).mesh);
    const SerialRun serial = run_serial(block, lysozyme_run(block, mesh, 11));
    Cell& cell = m.cell(name);
    cell.fact("repeat_bit_identical", fact_unless(poison_changes(block, serial, mesh)));
    const Tensors poisoned = make_inputs(block, serial.run, Padding::poison);
    const PortRun let_in = run_port(block, serial, mesh, poisoned, serial.output_gradients,
                                    Spoil{.drop_parameter = {}, .ignore_mask = true});
    const bool seen = let_in.results.outputs["z"].isnan().any().item<bool>();
    cell.fact("negative_control_caught", fact_unless(seen ? "" : "padding that was let in changed nothing"));
    cell.counter("padded_tokens", static_cast<double>(serial.run.sizes["N"] - serial.run.valid_tokens));
  }
  return m;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_program(argc, argv, cpize::parity::measure); }
