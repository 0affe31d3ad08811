// docs/mem_report.md: who holds memory at the peak of a step, against the budget, beside serial, and how it scales.
#pragma once
#include <cstdint>
#include "profile/memory_profile.hpp"

namespace cpize::profile {

/// A run, measured.
struct MeasuredMemory {
  std::string title;
  std::vector<std::string> scopes;  // of the model, in order
  double b = 0;                     // bytes of the largest shard of z (serial: of all of z)
  MemoryProfile profile;
  struct Gpu {
    std::int64_t reserved = 0;  // what the allocator had taken from the GPU
    std::string snapshot;       // the file of the allocator's history, or ""
  };
  std::optional<Gpu> gpu = {};
};

/// Growth of the peak, from four runs: sizes N and 2 N on one rank and on the mesh.
struct MemoryScaling {
  std::int64_t tokens = 0;
  MeshShape mesh;
  double one_small = 0, one_large = 0, mesh_small = 0, mesh_large = 0;  // peak bytes

  /// Peak ~ N^x on the mesh; 2 where memory is that of pairs.
  double exponent_in_n() const;
  /// Peak on one rank over (Q times peak on the mesh), inverted: 1 is perfect, Q is no saving at all.
  double excess_over_q() const;
};

/// One run.
std::string memory_section(const MeasuredMemory& run);
/// Sections of runs on GPUs; `gpu` is what the driver calls them.
std::string gpu_memory_report(const std::string& model, const std::vector<std::string>& sections,
                              const std::string& gpu);
std::string memory_report(const std::string& model, const std::vector<MeasuredMemory>& runs,
                          const std::vector<MemoryScaling>& scaling);

}  // namespace cpize::profile
