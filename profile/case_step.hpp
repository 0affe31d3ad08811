// A parity case as a training step: what profilers and benchmarks run of any port, and of its serial block.
//
//   const CaseProblem problem = make_case_problem(block, {{"N", 128}}, MeshShape(1, 2, 2));
//   comm::run_ranks(problem.setting.mesh, [&](const MeshPtr& mesh) {
//     PortCaseRun run(problem, mesh);
//     run.step();                                    // forward, backward, reduce_gradients
//   });
#pragma once
#include <memory>
#include <vector>

#include "parity/harness/execute.hpp"
#include "profile/step.hpp"

namespace cpize::profile {

/// What all ranks share: drawn inputs and output gradients in full, and the serial block whose parameters are copied.
struct CaseProblem {
  parity::BlockCase block;
  parity::Setting setting;
  parity::Run run;
  parity::SerialBlock serial;
  parity::Tensors inputs, output_gradients;
};

/// At the case's cost_size(), `sizes` on top; B is the extent of dp unless given. The same values at every call.
CaseProblem make_case_problem(const parity::BlockCase& block, const parity::Sizes& sizes,
                              const parity::Setting& setting);

/// One rank's share; every rank of the mesh makes one and calls the same functions.
class PortCaseRun {
 public:
  PortCaseRun(const CaseProblem& problem, const MeshPtr& mesh);
  /// This rank's outputs.
  std::vector<at::Tensor> forward();
  /// Forward, backward and reduce_gradients (in a scope of that name).
  void step(const AfterForward& after_forward = {});
  void clear_gradients();
  const torch::nn::Module* module() const { return port_.module.get(); }
  /// Of the gradients of all parameters.
  std::int64_t parameter_bytes() const;

 private:
  const CaseProblem& problem_;
  MeshPtr mesh_;
  parity::PortedBlock port_;
  parity::ShardedTensors inputs_;
  std::vector<at::Tensor> seeds_;
};

/// The serial block.
class SerialCaseRun {
 public:
  explicit SerialCaseRun(const CaseProblem& problem);
  std::vector<at::Tensor> forward();
  void step(const AfterForward& after_forward = {});
  void clear_gradients();

 private:
  const CaseProblem& problem_;
  parity::SerialBlock block_;
  parity::Tensors inputs_;
  std::vector<at::Tensor> seeds_;
};

}  // namespace cpize::profile
