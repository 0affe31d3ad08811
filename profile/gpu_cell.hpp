// GpuCell: a cell on GPUs as the profiling programs measure it: one rank a process, rank 0 reports for all.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "parity/harness/ranks.hpp"
#include "profile/case_step.hpp"

namespace cpize::profile {

/// What one rank found.
struct RankFindings {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};

/// Runs `f` on every rank of the cell; findings by rank, the same in every process. A collective.
std::vector<RankFindings> on_every_gpu(const parity::Setting& setting,
                                       const std::function<RankFindings(const MeshPtr&)>& f);
/// The rank with the largest number of that name.
const RankFindings& largest_by(const std::vector<RankFindings>& ranks, const std::string& number);
/// The first rank's text of that name that is not "", with its rank; "" where none has one.
std::string first_text(const std::vector<RankFindings>& ranks, const std::string& name);

/// Sizes by hand (--size), as a case takes them; on GPUs N is 1,024 unless said.
parity::Sizes sizes_by_hand(const parity::Request& request, const parity::Setting& setting);

/// `--out FOLDER` by hand: the artifact is written there as `report`, with what lies beside it. ConfigError where
/// another argument is left.
parity::Request with_output_folder(parity::Request request, const std::string& report);
/// `<artifact without extension>.<ending>` beside the artifact, its folder made; "" where there is no artifact.
std::string beside_artifact(const parity::Request& request, const std::string& ending);

}  // namespace cpize::profile
