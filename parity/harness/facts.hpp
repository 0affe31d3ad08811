// Facts: that a comparison was not vacuous, computed from the tensors of its runs and never claimed by the case.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "parity/harness/compare.hpp"
#include "parity/harness/execute.hpp"

namespace cpize::parity {

/// Sees every parity run of one cell; write() states what they show together (README.md lists the rules).
class Facts {
 public:
  Facts(const BlockCase& block, const Setting& setting) : block_(block), mesh_(setting.mesh) {}

  void see(const SerialRun& serial, const PortRun& port, const std::vector<Difference>& differences);
  void write(Cell& cell) const;

 private:
  void see_shards(const PortRun& port, const SerialRun& serial);
  void see_masks(const PortRun& port, const SerialRun& serial);
  void see_replicas(const PortRun& port, const std::string& run);
  void see_gradients(const SerialRun& serial, const PortRun& port, const std::vector<Difference>& differences);
  void see_seeds(const SerialRun& serial, const PortRun& port);
  std::string inactive_axis(const std::map<Axis, bool>& seen, const std::string& what) const;
  std::string zero_gradient_reason() const;
  std::string masks_reason() const;

  const BlockCase& block_;
  MeshShape mesh_;
  std::map<Axis, bool> cut_, uneven_;  // by axis with extent > 1
  bool padding_only_shard_ = false;
  bool has_masks_ = false, mixed_mask_ = false, none_mask_ = false, one_mask_ = false, all_mask_ = false;
  std::string replicas_differ_, not_finite_, seeds_bad_, constant_parameters_, not_compared_;
  int parameters_ = 0, perturbed_constants_ = 0, runs_ = 0;
  std::map<std::string, bool> nonzero_;            // "gradient p" and "input gradient x": seen non-zero on both sides
  std::map<std::string, std::string> not_a_zero_;  // declared zero_gradient() that is none
};

}  // namespace cpize::parity
