// Phase 4, stop and go: a run that is stopped and resumed in a new process equals the unbroken one bit for bit; on
// another mesh, and against a serial run, it stays within the error budget of serial_training.hpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "parity/harness/environment.hpp"
#include "parity/lifecycle/serial_training.hpp"
#include "parity/lifecycle/trunk_training.hpp"

namespace cpize::parity {
namespace {

using lifecycle::Checkpoint;
using lifecycle::Tensors;

void compare_weights(Cell& cell, const std::string& kind, const Tensors& a, const Tensors& b, const Tensors& budgets,
                     double times) {
  for (const auto& [name, budget] : budgets) {
    // The share of the budget of each element, so that one tolerance fits all; 0/0 is an element that must be equal.
    const at::Tensor apart = (a.at(name) - b.at(name)).abs();
    const double share = at::where(apart.eq(0), at::zeros_like(apart), apart / budget).max().item<double>();
    cell.difference({kind + name, share, times, "share of the element's budget, serial_training.hpp"});
  }
}

/// In a world of processes of the same size: that many were started.
MeshShape another(const Setting& setting) {
  const int rows = setting.mesh.extent(Axis::cp0), columns = setting.mesh.extent(Axis::cp1);
  if (setting.backend != "threads") return rows == 1 ? MeshShape(1, columns, 1) : MeshShape(1, 1, setting.mesh.size());
  return rows == columns ? MeshShape(1, columns, rows + 1) : MeshShape(1, columns, rows);
}

void measure_cell(Cell& cell, const Setting& setting, const TrainingCase& training, const SerialTraining& serial) {
  const ScratchFolder scratch(setting);
  const auto [unbroken, whole] = measure_stop_and_go(training, setting, scratch, cell);

  // Against serial, and on another mesh: both within the budget of serial, so twice of each other.
  const std::string derivation = "16 eps sqrt(K) |L| + sum |g| budget, serial_training.hpp";
  for (std::size_t i = 0; i < serial.losses.size(); ++i)
    cell.difference({"loss of step " + std::to_string(i + 1) + " against serial",
                     std::abs(unbroken.losses[i] - serial.losses[i]), serial.loss_budgets[i], derivation});
  cell.difference({"gradient norm of step 1 against serial",
                   std::abs(unbroken.gradient_norms[0] - serial.first_gradient_norm), serial.first_gradient_norm_budget,
                   "16 eps sqrt(K) norm"});
  compare_weights(cell, "against serial: ", whole.weights, serial.weights, serial.budgets, 1);
  compare_weights(cell, "average against serial: ", *whole.ema, serial.averages, serial.budgets, 1);

  Setting other = setting;
  other.mesh = another(setting);
  const std::string on = " on " + other.mesh.str();
  const ResumedRun moved =
      run_in_new_process(scratch / "stopped", other, training.last() - training.stop(), scratch / "moved");
  const Checkpoint elsewhere = lifecycle::read_checkpoint(scratch / "moved");
  for (std::size_t i = 0; i < moved.steps.losses.size(); ++i)
    cell.difference({"loss of step " + std::to_string(training.stop() + i + 1) + " resumed" + on,
                     std::abs(unbroken.losses[training.stop() + i] - moved.steps.losses[i]),
                     2 * serial.loss_budgets[training.stop() + i], "twice " + derivation});
  compare_weights(cell, "resumed" + on + ": ", elsewhere.weights, whole.weights, serial.budgets, 2);
}

Measurement measure(const Request& request) {
  at::set_num_threads(1);
  Measurement measurement("lifecycle");
  describe_environment(measurement);
  const features::Features batch = trunk_batch();
  const TrainingCase training = trunk_training(batch);
  const SerialTraining serial = train_serially(batch, training.last());
  for (const auto& name : request.cells) {
    measure_cell(measurement.cell(name), fp64_setting(CellName::parse(name)), training, serial);
  }
  return measurement;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) {
  if (const auto status = cpize::parity::resumed_main(
          argc, argv, [] { return cpize::parity::trunk_training(cpize::parity::trunk_batch()); }))
    return *status;
  return cpize::parity::run_ranked_program(argc, argv, cpize::parity::measure);
}
