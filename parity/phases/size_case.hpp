// SizeCase: phase 7 of any model. The largest size whose training step fits in a budget of bytes a rank, and time over
// size, on the mesh and on one rank.
//
//   return SizeCase("contact net")
//       .step([](const MeshPtr& mesh, std::int64_t n) -> profile::Step { ... })
//       .budget(16 << 20)         // bytes that a rank may hold in a step
//       .timed_up_to(128);
#pragma once
#include "parity/harness/request.hpp"
#include "profile/step.hpp"

namespace cpize::parity {

class SizeCase {
 public:
  using Make = std::function<profile::Step(const MeshPtr&, std::int64_t n)>;

  explicit SizeCase(std::string model) : model_(std::move(model)) {}
  /// What `make` allocates counts, too: a step's inputs and parameters are held.
  SizeCase& step(Make make);
  SizeCase& budget(std::int64_t bytes);
  SizeCase& timed_up_to(std::int64_t n);

  const std::string& model() const { return model_; }
  const Make& step() const { return step_; }
  std::int64_t budget() const { return budget_; }
  std::int64_t largest_timed() const { return largest_timed_; }

 private:
  std::string model_;
  Make step_;
  std::int64_t budget_ = 16 << 20, largest_timed_ = 64;
};

/// Profile "bench": measured_nonempty, counters max_n, steps_per_s, peak_bytes, each also for one rank. The document
/// goes to the request's artifact. By hand: --size MiB=64,N=128.
Measurement measure_size(const SizeCase& c, const Request& request);

}  // namespace cpize::parity

/// At global scope: CPIZE_SIZE_MAIN(size_of_my_model)
#define CPIZE_SIZE_MAIN(make)                                                                 \
  int main(int argc, char** argv) {                                                           \
    return cpize::parity::run_program(argc, argv, [](const cpize::parity::Request& request) { \
      return cpize::parity::measure_size(make(), request);                                    \
    });                                                                                       \
  }
