// TrainingCase: phase 4 of any model. A run that is stopped and resumed in a new process equals the unbroken one bit
// for bit.
//
//   return TrainingCase("contact net")
//       .model([](const MeshPtr& mesh) -> lifecycle::TrainingModel { ... })   // a module with its loss share
//       .options(options);                                                     // lifecycle::TrainerOptions
#pragma once
#include <filesystem>
#include <optional>
#include <set>

#include "lifecycle/checkpoint.hpp"
#include "lifecycle/trainer.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {

class TrainingCase {
 public:
  /// This rank's model, on mesh.control_device(); parameters are the same on every rank. A collective: every rank of
  /// the mesh calls it.
  using Make = std::function<lifecycle::TrainingModel(const MeshPtr&)>;

  explicit TrainingCase(std::string name) : name_(std::move(name)) {}
  TrainingCase& model(Make make);
  TrainingCase& options(lifecycle::TrainerOptions options);
  /// Stops after `stop` steps of `last`; 3 of 6 unless said.
  TrainingCase& steps(std::int64_t stop, std::int64_t last);
  /// Names that must be trained and saved, where they are known from elsewhere than the model itself (which is asked
  /// if nothing is said).
  TrainingCase& parameters(std::vector<std::string> names);

  const std::string& name() const { return name_; }
  const Make& make() const { return make_; }
  const lifecycle::TrainerOptions& options() const { return options_; }
  std::int64_t stop() const { return stop_; }
  std::int64_t last() const { return last_; }
  const std::vector<std::string>& parameters() const { return parameters_; }

 private:
  std::string name_;
  Make make_;
  lifecycle::TrainerOptions options_;
  std::int64_t stop_ = 3, last_ = 6;
  std::vector<std::string> parameters_;
};

/// A run, or its continuation, as bits.
struct Steps {
  std::vector<double> losses, gradient_norms;
};

/// Trains on the ranks of a setting. From the model's own parameters or, where it is not empty, from the checkpoint
/// `from`; `steps` more steps; then a checkpoint in `to`. What rank 0 saw, after every rank saw the same.
Steps train(const TrainingCase& training, const Setting& setting, const std::filesystem::path& from, std::int64_t steps,
            const std::filesystem::path& to);

struct ResumedRun {
  std::set<std::int64_t> processes;  // that ran it
  std::int64_t resumed_at = 0;       // the step they found in the checkpoint
  Steps steps;
};

/// Starts a new process (this program with --resume) that goes on from the checkpoint `from`; waits for it. Over mpi
/// and nccl it is a new world, one process a rank. Error where it fails. A collective.
ResumedRun run_in_new_process(const std::filesystem::path& from, const Setting& setting, std::int64_t steps,
                              const std::filesystem::path& to);

/// main() of the new process: --resume <from> <cell> <steps> <to>. Nothing where the arguments are not that.
std::optional<int> resumed_main(int argc, char** argv, const std::function<TrainingCase()>& make);

/// A folder of all processes of a setting, gone when rank 0's is. A collective.
class ScratchFolder {
 public:
  explicit ScratchFolder(const Setting& setting);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  bool mine_ = false;
};

/// The unbroken run, for comparisons of one's own; the checkpoint where it was stopped is scratch / "stopped".
struct StopAndGo {
  Steps unbroken;
  lifecycle::Checkpoint whole;
};

/// Fills in a cell of profile "lifecycle": resumed_in_new_process, bit_equal, every_parameter_compared,
/// gradients_nonzero, and the sabotages drop_optimizer_state, restart_counters and, where there is one,
/// drop_weight_average.
StopAndGo measure_stop_and_go(const TrainingCase& training, const Setting& setting, const ScratchFolder& scratch,
                              Cell& cell);

/// ConfigError unless the cell is in fp64.
Setting fp64_setting(const CellName& cell);

/// Every cell asked for, in fp64, over any backend.
Measurement measure_training(const TrainingCase& training, const Request& request);

int training_main(int argc, char** argv, const std::function<TrainingCase()>& make);

}  // namespace cpize::parity

/// At global scope: CPIZE_TRAINING_MAIN(training_of_my_model)
#define CPIZE_TRAINING_MAIN(make) \
  int main(int argc, char** argv) { return cpize::parity::training_main(argc, argv, make); }
