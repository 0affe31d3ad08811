#include "parity/phases/training_case.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <stdlib.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <limits>

#include "comm/agree.hpp"
#include "error/error.hpp"
#include "parity/harness/bits.hpp"
#include "parity/harness/environment.hpp"

namespace cpize::parity {
namespace {

using lifecycle::Checkpoint;
using lifecycle::Tensors;

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return std::numeric_limits<double>::quiet_NaN();
  return a.numel() == 0 ? 0 : (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
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
  if (a.ema.has_value() != b.ema.has_value()) return "one has a weight average, the other has none";
  for (const std::string& text :
       {differing("weights", a.weights, b.weights), differing("optimizer", a.optimizer, b.optimizer),
        a.ema ? differing("ema", *a.ema, *b.ema) : std::string()})
    if (!text.empty()) return text;
  return "";
}

/// Empty, or why the steps after the stop differ.
std::string differing(const TrainingCase& training, const Steps& unbroken, const Steps& resumed) {
  if (resumed.losses.size() != static_cast<std::size_t>(training.last() - training.stop()))
    return "another number of steps";
  for (std::size_t i = 0; i < resumed.losses.size(); ++i) {
    const std::size_t step = i + training.stop();
    if (std::memcmp(&unbroken.losses[step], &resumed.losses[i], sizeof(double)) != 0)
      return "the loss of step " + std::to_string(step + 1) + " differs";
    if (std::memcmp(&unbroken.gradient_norms[step], &resumed.gradient_norms[i], sizeof(double)) != 0)
      return "the gradient norm of step " + std::to_string(step + 1) + " differs";
  }
  return "";
}

std::vector<std::string> names_of(const TrainingCase& training, const Setting& setting) {
  std::vector<std::string> names = training.parameters();
  if (!names.empty()) return names;
  const auto ranks = on_every_rank(setting, [&](const MeshPtr& mesh) {
    RankReport report;
    const auto model = training.make()(mesh);
    for (const auto& [name, tensor] : lifecycle::trainable_parameters(*model.module)) report.numbers[name] = 0;
    return report;
  });
  for (const auto& [name, nothing] : ranks[0].numbers) names.push_back(name);
  return names;
}

/// Empty, or the first of `names` of which a checkpoint lacks something.
std::string uncovered(const std::vector<std::string>& names, bool averaged, const Checkpoint& checkpoint) {
  if (names.empty()) return "the model has no parameter";
  for (const auto& name : names) {
    for (const char* kind : {"exp_avg.", "exp_avg_sq.", "step."})
      if (!checkpoint.optimizer.contains(kind + name))
        return std::string(kind) + name + " is not in the optimizer state";
    if (!checkpoint.weights.contains(name)) return name + " is not among the weights";
    if (averaged && (!checkpoint.ema || !checkpoint.ema->contains(name))) return name + " has no average";
  }
  return "";
}

/// Empty, or the first parameter that had no gradient or stood still between two checkpoints.
std::string idle(const std::vector<std::string>& names, const Checkpoint& before, const Checkpoint& after) {
  for (const auto& name : names) {
    const auto moment = after.optimizer.find("exp_avg." + name);
    if (moment == after.optimizer.end()) return name + " has no optimizer state";
    if (!at::isfinite(moment->second).all().item<bool>()) return name + " has a gradient that is not finite";
    if (moment->second.abs().max().item<double>() == 0) return name + " has no gradient";
    if (same_bits(after.weights.at(name), before.weights.at(name))) return name + " did not move";
  }
  return "";
}

/// Resuming from a checkpoint that lacks something must be seen by the comparison that says "bit equal".
std::string sabotage(const TrainingCase& training, const StopAndGo& run, const Checkpoint& spoilt,
                     const Setting& setting, const ScratchFolder& scratch, const std::string& what) {
  if (reports_here()) write_checkpoint(scratch / (what + "_from"), spoilt);
  const auto resumed = run_in_new_process(scratch / (what + "_from"), setting, training.last() - training.stop(),
                                          scratch / (what + "_to"));
  const bool seen = !differing(run.whole, lifecycle::read_checkpoint(scratch / (what + "_to"))).empty() ||
                    !differing(training, run.unbroken, resumed.steps).empty();
  return caught_or_missed(seen, "the resumed run was still bit equal");
}

}  // namespace

TrainingCase& TrainingCase::model(Make make) {
  make_ = std::move(make);
  return *this;
}

TrainingCase& TrainingCase::options(lifecycle::TrainerOptions options) {
  options_ = std::move(options);
  return *this;
}

TrainingCase& TrainingCase::steps(std::int64_t stop, std::int64_t last) {
  if (stop < 1 || last <= stop)
    throw ContractError("training case " + name_ + ": it must stop after a step and before the last one");
  stop_ = stop;
  last_ = last;
  return *this;
}

TrainingCase& TrainingCase::parameters(std::vector<std::string> names) {
  parameters_ = std::move(names);
  return *this;
}

ScratchFolder::ScratchFolder(const Setting& setting) : mine_(reports_here()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "cpize_stop_and_go.XXXXXX").string();
  if (mine_ && ::mkdtemp(pattern.data()) == nullptr) throw ResourceError(pattern + ": " + std::strerror(errno));
  path_ = agreed_text(setting, pattern);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (mine_) std::filesystem::remove_all(path_, ignored);
}

Steps train(const TrainingCase& training, const Setting& setting, const std::filesystem::path& from, std::int64_t steps,
            const std::filesystem::path& to) {
  const auto ranks = on_every_rank(setting, [&](const MeshPtr& mesh) {
    lifecycle::Trainer trainer(training.make()(mesh), mesh, training.options());
    if (!from.empty()) trainer.resume(from);
    std::vector<double> losses, norms;
    for (std::int64_t i = 0; i < steps; ++i) {
      const auto result = trainer.step();
      comm::agree_equal(*mesh, "the loss", std::bit_cast<std::int64_t>(result.loss));
      comm::agree_equal(*mesh, "the gradient norm", std::bit_cast<std::int64_t>(result.gradient_norm));
      losses.push_back(result.loss);
      norms.push_back(result.gradient_norm);
    }
    trainer.save(to);
    return RankReport{{{"losses", at::tensor(losses, at::kDouble)}, {"norms", at::tensor(norms, at::kDouble)}}, {}};
  });
  const auto values = [&](const char* name) {
    const at::Tensor& all = ranks[0].tensors.at(name);
    return std::vector<double>(all.data_ptr<double>(), all.data_ptr<double>() + all.numel());
  };
  return {values("losses"), values("norms")};
}

StopAndGo measure_stop_and_go(const TrainingCase& training, const Setting& setting, const ScratchFolder& scratch,
                              Cell& cell) {
  StopAndGo run;
  const std::int64_t rest = training.last() - training.stop();
  train(training, setting, "", 0, scratch / "step_0");
  run.unbroken = train(training, setting, "", training.last(), scratch / "unbroken");
  train(training, setting, "", training.stop(), scratch / "stopped");
  const ResumedRun resumed = run_in_new_process(scratch / "stopped", setting, rest, scratch / "resumed");

  const Checkpoint first = lifecycle::read_checkpoint(scratch / "step_0");
  const Checkpoint stopped = lifecycle::read_checkpoint(scratch / "stopped");
  const Checkpoint continued = lifecycle::read_checkpoint(scratch / "resumed");
  run.whole = lifecycle::read_checkpoint(scratch / "unbroken");

  std::string reason;
  if (resumed.processes.contains(::getpid())) reason = "it ran in the same process";
  if (resumed.resumed_at != training.stop()) reason = "it resumed at step " + std::to_string(resumed.resumed_at);
  cell.fact("resumed_in_new_process", fact_unless(reason));
  reason = differing(run.whole, continued);
  cell.fact("bit_equal", fact_unless(reason.empty() ? differing(training, run.unbroken, resumed.steps) : reason));
  for (const auto& [name, weight] : run.whole.weights)
    if (const auto found = continued.weights.find(name); found != continued.weights.end())
      cell.difference({"resumed: " + name, largest_difference(weight, found->second), 0, "resuming repeats the bits"});
  const auto names = names_of(training, setting);
  const bool averaged = training.options().ema.has_value();
  reason = uncovered(names, averaged, run.whole);
  cell.fact("every_parameter_compared", fact_unless(reason.empty() ? uncovered(names, averaged, continued) : reason));
  cell.fact("gradients_nonzero", fact_unless(idle(names, first, run.whole)));

  Checkpoint spoilt = stopped;
  for (auto& [name, tensor] : spoilt.optimizer) tensor = at::zeros_like(tensor);
  cell.sabotage("drop_optimizer_state", sabotage(training, run, spoilt, setting, scratch, "drop_optimizer_state"));
  spoilt = stopped;
  spoilt.manifest.step = 0;
  cell.sabotage("restart_counters", sabotage(training, run, spoilt, setting, scratch, "restart_counters"));
  if (averaged) {
    spoilt = stopped;
    spoilt.ema = stopped.weights;
    cell.sabotage("drop_weight_average", sabotage(training, run, spoilt, setting, scratch, "drop_weight_average"));
  }
  return run;
}

Setting fp64_setting(const CellName& cell) {
  if (cell.dtype != "fp64") throw ConfigError("cell " + cell.str() + ": training is resumed in fp64 alone");
  return Setting::of(cell);
}

Measurement measure_training(const TrainingCase& training, const Request& request) {
  if (!training.make()) throw ContractError("training case " + training.name() + ": it has no model()");
  at::set_num_threads(1);
  Measurement m("lifecycle");
  describe_environment(m);
  for (const auto& name : request.cells) {
    const CellName cell_name = CellName::parse(name);
    const Setting setting = fp64_setting(cell_name);
    const ScratchFolder scratch(setting);
    Cell& cell = m.cell(name);
    const StopAndGo run = measure_stop_and_go(training, setting, scratch, cell);
    cell.counter("loss.first", run.unbroken.losses.front());
    cell.counter("loss.last", run.unbroken.losses.back());
  }
  return m;
}

int training_main(int argc, char** argv, const std::function<TrainingCase()>& make) {
  if (const auto status = resumed_main(argc, argv, make)) return *status;
  return run_ranked_program(argc, argv, [&](const Request& request) { return measure_training(make(), request); });
}

}  // namespace cpize::parity
