// Ranks: runs one function on every rank of a cell's mesh and gives every process every rank's results.
//
// Cells over threads: the ranks are threads of this process. Cells over mpi and nccl: the launcher started one process
// a rank; each of them executes the same program from the first line to the last, runs its own rank here, and gets the
// others' results. So whatever compares, counts and spoils afterwards does the same in every process, and only rank 0
// reports. A rank that throws ends the program everywhere, with its message.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mesh/device_mesh.hpp"
#include "parity/harness/request.hpp"
#include "parity/harness/setting.hpp"

namespace cpize::parity {

/// What one rank brings back. Tensors arrive detached, contiguous and on the CPU; dtype and bits are kept.
struct RankReport {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, double> numbers;
};

/// Runs `f` on every rank of the setting's mesh; reports by rank, the same in every process. A collective.
std::vector<RankReport> on_every_rank(const Setting& setting, const std::function<RankReport(const MeshPtr&)>& f);

/// Rank 0's text in every process: for choices that depend on arithmetic which may differ in its last bits. A
/// collective.
std::string agreed_text(const Setting& setting, const std::string& mine);

/// Whether this process writes the report: not so on ranks other than 0 of a process world.
bool reports_here();

/// The GPU of this process: NCCL's, else cuda:0.
c10::Device gpu_of_this_process();

/// main() of a program that can measure cells over any backend. Like run_program(); where the cells are over mpi or
/// nccl it first joins the world of the launcher. All cells of one run have the same backend and number of ranks.
int run_ranked_program(int argc, char** argv, const std::function<Measurement(const Request&)>& measure);

/// The same for a program that has another thing to do than to measure: `f` runs in every process of the cell's world
/// (threads: in this one), and its value is the exit status.
int run_in_world_of(const CellName& cell, int argc, char** argv, const std::function<int()>& f);

/// A report as bytes, and back. InputError where `bytes` is no report.
std::string to_bytes(const RankReport& report);
RankReport report_from_bytes(const std::string& bytes);

}  // namespace cpize::parity
