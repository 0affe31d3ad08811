// Checkpoint: a folder of plain full tensors in safetensors files and a JSON manifest, written atomically, read
// strictly.
//
//   weights.safetensors     parameters and buffers under their names
//   optimizer.safetensors   exp_avg.<name>, exp_avg_sq.<name>, step.<name>
//   ema.safetensors         averages under the weights' names; only where the run has them
//   manifest.json           format, step, seed, mesh, options, and bytes, tensors and fingerprint of each file
//
// Nothing in it depends on the mesh: parameters are replicated, so it loads on any. Python reads it with its
// safetensors package. No communication here; Trainer::save and resume let all ranks agree.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "lifecycle/named_tensors.hpp"

namespace cpize::lifecycle {

inline constexpr std::int64_t checkpoint_version = 1;

struct Manifest {
  std::int64_t step = 0;                       // optimizer steps done; counter-based streams go on from here
  std::uint64_t seed = 0;                      // of those streams
  std::string mesh;                            // what it was written on, "1x2x2"; for people
  std::map<std::string, std::string> options;  // of optimizer, schedule and average; for people
};

struct Checkpoint {
  Manifest manifest;
  Tensors weights, optimizer;
  std::optional<Tensors> ema;
};

/// Writes the folder atomically (atomic_folder.hpp), replacing one of that name. ResourceError where it cannot.
void write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

/// Reads a whole checkpoint into CPU memory. InputError, naming the file and the field, where the folder is absent, a
/// file is missing, unlisted, damaged or does not belong to this manifest, the format is another one, or the manifest
/// has an absent, unknown or wrong field.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

/// The manifest alone, checked for itself.
Manifest read_manifest(const std::filesystem::path& folder);

/// The checkpoint with the most steps among the folders in `root`; what a killed writer left behind is not one of them.
/// Nothing where there is none or `root` does not exist.
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& root);

}  // namespace cpize::lifecycle
