// ProfileCase: phase 6 of any model. Who holds how many bytes in a training step, against budgets, and where its time
// goes.
//
//   return ProfileCase("contact net")
//       .step([](const MeshPtr& mesh) -> profile::Step { ... })       // forward, backward, reduce_gradients, in scopes
//       .budget("row_attention", [](const MeshShape& mesh) { return 8.0 * 12 * 64 * 64 / mesh.cp_size(); });
#pragma once
#include <map>

#include "parity/harness/request.hpp"
#include "profile/step_memory.hpp"

namespace cpize::parity {

class ProfileCase {
 public:
  using Budget = std::function<double(const MeshShape&)>;

  explicit ProfileCase(std::string model) : model_(std::move(model)) {}
  ProfileCase& step(profile::MakeStep make);
  /// The most bytes that the allocations of a scope may hold at one time, forward and backward, on any rank. Every
  /// scope that allocates needs one.
  ProfileCase& budget(const std::string& scope, Budget bytes);
  /// Of activations; results in a wider dtype are listed. fp64 unless said.
  ProfileCase& dtype(at::ScalarType dtype);

  const std::string& model() const { return model_; }
  const profile::MakeStep& step() const { return step_; }
  const std::map<std::string, Budget>& budgets() const { return budgets_; }
  at::ScalarType dtype() const { return dtype_; }

 private:
  std::string model_;
  profile::MakeStep step_;
  std::map<std::string, Budget> budgets_;
  at::ScalarType dtype_ = at::kDouble;
};

/// Profile "profile": budget_checked, scopes_attributed (95 % of the bytes at the peak are in named scopes), a bounded
/// counter a scope. The document, with the time of a step by scope, goes to the request's artifact.
Measurement measure_profile(const ProfileCase& c, const Request& request);

}  // namespace cpize::parity

/// At global scope: CPIZE_PROFILE_MAIN(profile_of_my_model)
#define CPIZE_PROFILE_MAIN(make)                                                              \
  int main(int argc, char** argv) {                                                           \
    return cpize::parity::run_program(argc, argv, [](const cpize::parity::Request& request) { \
      return cpize::parity::measure_profile(make(), request);                                 \
    });                                                                                       \
  }
