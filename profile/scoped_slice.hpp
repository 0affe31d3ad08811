// The pair slice, serial and on a mesh, with a named scope around every step: what the profilers and benchmarks run.
//
// The compositions are those of serial/pair_slice.cpp and trunk/pair_slice.cpp, step by step, in the scopes
// zero_padding, input_embedder, pair_init, tri_mul_out, tri_mul_in, transition_z (each with its residual sum), and
// reduce_gradients.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "parity/harness/setting.hpp"
#include "profile/step.hpp"
#include "serial/pair_slice.hpp"
#include "trunk/pair_slice.hpp"

namespace cpize::profile {

struct SliceSize {
  std::int64_t batch = 1, tokens = 0, channels = 64, token_s = 64;
  at::ScalarType dtype = at::kDouble;  // of activations
  /// With a bf16 `dtype`: parameters and features are fp32 and forward runs under autocast. Else all are of `dtype`.
  bool autocast = false;
  at::Device device = at::kCPU;

  at::ScalarType wide() const { return autocast ? at::kFloat : dtype; }
};

/// Random features and weights, the serial model with them, and an output gradient [B,N,N,channels]. On a GPU: the
/// features; the model stays on the CPU for ranks to copy, and each rank draws its shard of the output gradient itself.
struct SliceProblem {
  SliceSize size;
  serial::PairSlice model{nullptr};
  std::map<std::string, at::Tensor> features;
  at::Tensor output_gradient;
};
/// The same values at every call with the same size. About an eighth of the tokens is padding.
SliceProblem make_slice_problem(const SliceSize& size);

/// The names of the scopes, in the order in which they run.
const std::vector<std::string>& slice_scopes();

/// The serial slice.
class SerialSliceRun {
 public:
  explicit SerialSliceRun(const SliceProblem& problem);
  at::Tensor forward();
  /// Forward and backward; gradients of the parameters are left behind.
  void step(const AfterForward& after_forward = {});
  void clear_gradients();
  serial::PairSlice& model() { return model_; }
  const serial::PairSliceFeatures& features() const { return features_; }

 private:
  serial::PairSlice model_;
  serial::PairSliceFeatures features_;
  at::Tensor output_gradient_;
};

/// One rank's share of it; every rank of the mesh makes one and calls the same functions.
class PortSliceRun {
 public:
  PortSliceRun(const SliceProblem& problem, const MeshPtr& mesh);
  Sharded<Pair> forward();
  /// Forward, backward and reduce_gradients.
  void step(const AfterForward& after_forward = {});
  void clear_gradients();
  trunk::PairSlice& model() { return model_; }
  const trunk::PairSliceFeatures& features() const { return features_; }
  /// Bytes of the gradients of all parameters, and of those of one step (a scope's name).
  std::int64_t parameter_bytes() const;
  std::int64_t parameter_bytes_of(const std::string& scope) const;
  /// Bytes of this rank's shard of z.
  std::int64_t output_bytes() const { return static_cast<std::int64_t>(output_gradient_.nbytes()); }

 private:
  MeshPtr mesh_;
  trunk::PairSlice model_;
  trunk::PairSliceFeatures features_;
  at::Tensor output_gradient_;
  parity::Setting setting_;
};

}  // namespace cpize::profile
