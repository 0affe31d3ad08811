// Phase 5: from features of a real protein with its alignment to s, z and the distogram and back to every parameter's
// gradient, against serial. The whole protein (141 tokens) beside the small runs that every block is proved on, here on
// the protein's first tokens, with padding. The whole protein has none: in a row of padding serial adds -1e9 to every
// logit, which rounds it to multiples of 1e-7, so that there two equal models differ by as much.
#include "parity/end_to_end/haemoglobin_trunk.hpp"
#include "parity/harness/block_parity.hpp"
#include "parity/harness/compare.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

Measurement measure(const Request& request) {
  const BlockCase block = haemoglobin_trunk({.recycling_steps = 1});
  Measurement measurement = measure_block(block, request);
  for (const auto& name : request.cells) {
    const Setting setting = Setting::of(CellName::parse(name));
    const SerialRun serial = run_serial(block, haemoglobin_run(block, setting.mesh, 0), setting);
    const PortRun port = run_port(block, serial, setting, serial.inputs, serial.output_gradients);
    Cell& cell = measurement.cell(name);
    for (Difference d : compare(block, serial, port.results)) {
      d.name = "whole protein: " + d.name;
      cell.difference(std::move(d));
    }
    cell.counter("tokens", static_cast<double>(serial.run.valid_tokens));
  }
  return measurement;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_ranked_program(argc, argv, cpize::parity::measure); }
