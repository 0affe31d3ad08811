// Phase 4, stop and go: a run that is stopped and resumed in a new process equals the unbroken one bit for bit; on
// another mesh, and against a serial run, it stays within the error budget of serial_training.hpp.
#include <ATen/ATen.h>
#include <stdlib.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstring>

#include "error/error.hpp"
#include "parity/harness/request.hpp"
#include "resumed_run.hpp"
#include "serial_training.hpp"

namespace cpize::parity {
namespace {

namespace fs = std::filesystem;
using lifecycle::Checkpoint;
using lifecycle::Tensors;

constexpr std::int64_t stop_after = 3, last_step = 6;

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "cpize_stop_and_go.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw ResourceError(pattern + ": " + std::strerror(errno));
    path_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  return x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

/// Empty, or the first difference.
std::string differing(const char* what, const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return std::string(what) + ": another number of tensors";
  for (const auto& [name, tensor] : a) {
    const auto found = b.find(name);
    if (found == b.end()) return std::string(what) + ": " + name + " is missing";
    if (!same_bits(tensor, found->second)) return std::string(what) + ": " + name + " differs";
  }
  return "";
}

std::string differing(const Checkpoint& a, const Checkpoint& b) {
  if (a.manifest.step != b.manifest.step) return "the step counter differs";
  for (const std::string& text :
       {differing("weights", a.weights, b.weights), differing("optimizer", a.optimizer, b.optimizer),
        a.ema && b.ema ? differing("ema", *a.ema, *b.ema) : std::string("no weight average")})
    if (!text.empty()) return text;
  return "";
}

/// Empty, or why steps stop_after + 1 ... last_step of the two differ.
std::string differing(const Steps& unbroken, const Steps& resumed) {
  if (resumed.losses.size() != last_step - stop_after) return "another number of steps";
  for (std::size_t i = 0; i < resumed.losses.size(); ++i) {
    const std::size_t step = i + stop_after;
    if (std::memcmp(&unbroken.losses[step], &resumed.losses[i], sizeof(double)) != 0)
      return "the loss of step " + std::to_string(step + 1) + " differs";
    if (std::memcmp(&unbroken.gradient_norms[step], &resumed.gradient_norms[i], sizeof(double)) != 0)
      return "the gradient norm of step " + std::to_string(step + 1) + " differs";
  }
  return "";
}

/// Empty, or the first trained parameter of which a checkpoint lacks something.
std::string uncovered(const Checkpoint& checkpoint) {
  const serial::PairSlice published;  // the names that must be there; their sizes do not matter
  for (const auto& item : published->named_parameters()) {
    const std::string& name = item.key();
    for (const char* kind : {"exp_avg.", "exp_avg_sq.", "step."})
      if (!checkpoint.optimizer.contains(kind + name))
        return std::string(kind) + name + " is not in the optimizer state";
    if (!checkpoint.weights.contains(name)) return name + " is not among the weights";
    if (!checkpoint.ema || !checkpoint.ema->contains(name)) return name + " has no average";
  }
  return "";
}

/// Empty, or the first parameter that had no gradient or stood still between two checkpoints.
std::string idle(const Checkpoint& before, const Checkpoint& after) {
  for (const auto& [name, weight] : after.weights) {
    const at::Tensor& moment = after.optimizer.at("exp_avg." + name);
    if (!at::isfinite(moment).all().item<bool>()) return name + " has a gradient that is not finite";
    if (moment.abs().max().item<double>() == 0) return name + " has no gradient";
    if (same_bits(weight, before.weights.at(name))) return name + " did not move";
  }
  return "";
}

void compare_weights(Cell& cell, const std::string& kind, const Tensors& a, const Tensors& b, const Tensors& budgets,
                     double times) {
  for (const auto& [name, budget] : budgets) {
    // The share of the budget of each element, so that one tolerance fits all; 0/0 is an element that must be equal.
    const at::Tensor apart = (a.at(name) - b.at(name)).abs();
    const double share = at::where(apart.eq(0), at::zeros_like(apart), apart / budget).max().item<double>();
    cell.difference({kind + name, share, times, "share of the element's budget, serial_training.hpp"});
  }
}

MeshShape another(const MeshShape& mesh) {
  const int rows = mesh.extent(Axis::cp0), columns = mesh.extent(Axis::cp1);
  return rows == columns ? MeshShape(1, columns, rows + 1) : MeshShape(1, columns, rows);
}

/// Resuming from a checkpoint that lacks something must be seen by the comparison that says "bit equal".
std::string sabotage(const Checkpoint& unbroken, const Steps& steps, const Checkpoint& spoilt, const MeshShape& mesh,
                     const ScratchFolder& scratch, const std::string& what) {
  write_checkpoint(scratch / (what + "_from"), spoilt);
  const auto run =
      run_in_new_process(scratch / (what + "_from"), mesh, last_step - stop_after, scratch / (what + "_to"));
  const bool seen = !differing(unbroken, lifecycle::read_checkpoint(scratch / (what + "_to"))).empty() ||
                    !differing(steps, run.steps).empty();
  return caught_or_missed(seen, "the resumed run was still bit equal");
}

void measure_cell(Cell& cell, const MeshShape& mesh, const features::Features& batch, const SerialTraining& serial) {
  const ScratchFolder scratch;
  train(batch, mesh, "", 0, scratch / "step_0");
  const Steps unbroken = train(batch, mesh, "", last_step, scratch / "unbroken");
  train(batch, mesh, "", stop_after, scratch / "stopped");
  const ResumedRun resumed = run_in_new_process(scratch / "stopped", mesh, last_step - stop_after, scratch / "resumed");

  const Checkpoint first = lifecycle::read_checkpoint(scratch / "step_0");
  const Checkpoint stopped = lifecycle::read_checkpoint(scratch / "stopped");
  const Checkpoint whole = lifecycle::read_checkpoint(scratch / "unbroken");
  const Checkpoint continued = lifecycle::read_checkpoint(scratch / "resumed");

  std::string reason;
  if (resumed.process == ::getpid() || resumed.parent != ::getpid()) reason = "it ran in the same process";
  if (resumed.resumed_at != stop_after) reason = "it resumed at step " + std::to_string(resumed.resumed_at);
  cell.fact("resumed_in_new_process", fact_unless(reason));
  reason = differing(whole, continued);
  cell.fact("bit_equal", fact_unless(reason.empty() ? differing(unbroken, resumed.steps) : reason));
  reason = uncovered(whole);
  cell.fact("every_parameter_compared", fact_unless(reason.empty() ? uncovered(continued) : reason));
  cell.fact("gradients_nonzero", fact_unless(idle(first, whole)));

  Checkpoint spoilt = stopped;
  for (auto& [name, tensor] : spoilt.optimizer) tensor = at::zeros_like(tensor);
  cell.sabotage("drop_optimizer_state", sabotage(whole, unbroken, spoilt, mesh, scratch, "drop_optimizer_state"));
  spoilt = stopped;
  spoilt.manifest.step = 0;
  cell.sabotage("restart_counters", sabotage(whole, unbroken, spoilt, mesh, scratch, "restart_counters"));
  spoilt = stopped;
  spoilt.ema = stopped.weights;
  cell.sabotage("drop_weight_average", sabotage(whole, unbroken, spoilt, mesh, scratch, "drop_weight_average"));

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

  const MeshShape other = another(mesh);
  const std::string on = " on " + other.str();
  const ResumedRun moved = run_in_new_process(scratch / "stopped", other, last_step - stop_after, scratch / "moved");
  const Checkpoint elsewhere = lifecycle::read_checkpoint(scratch / "moved");
  for (std::size_t i = 0; i < moved.steps.losses.size(); ++i)
    cell.difference({"loss of step " + std::to_string(stop_after + i + 1) + " resumed" + on,
                     std::abs(unbroken.losses[stop_after + i] - moved.steps.losses[i]),
                     2 * serial.loss_budgets[stop_after + i], "twice " + derivation});
  compare_weights(cell, "resumed" + on + ": ", elsewhere.weights, whole.weights, serial.budgets, 2);
}

Measurement measure(const Request& request) {
  at::set_num_threads(1);
  Measurement measurement("lifecycle");
  measurement.environment("torch", TORCH_VERSION);
  const features::Features batch = slice_batch();
  const SerialTraining serial = train_serially(batch, last_step);
  for (const auto& name : request.cells) {
    const CellName cell = CellName::parse(name);
    cell.require_threads_fp64_cpu();
    measure_cell(measurement.cell(name), MeshShape::parse(cell.mesh), batch, serial);
  }
  return measurement;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) {
  if (const auto status = cpize::parity::resumed_main(argc, argv)) return *status;
  return cpize::parity::run_program(argc, argv, cpize::parity::measure);
}
