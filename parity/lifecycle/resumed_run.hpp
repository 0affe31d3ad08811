// A continuation in a new process: the same program, started with --resume.
#pragma once
#include "slice_training.hpp"

namespace cpize::parity {

struct ResumedRun {
  std::int64_t process = 0, parent = 0;  // as the new process saw them
  std::int64_t resumed_at = 0;           // the step it found in the checkpoint
  Steps steps;
};

/// Starts a new process that resumes `from` on `mesh`, does `steps` more steps, writes its checkpoint to `to` and a
/// report beside it; waits for it. Error where it fails.
ResumedRun run_in_new_process(const std::filesystem::path& from, const MeshShape& mesh, std::int64_t steps,
                              const std::filesystem::path& to);

/// main() of the new process: --resume <from> <mesh> <steps> <to>. Nothing where the arguments are not that.
std::optional<int> resumed_main(int argc, char** argv);

}  // namespace cpize::parity
