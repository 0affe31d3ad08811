// PropertyCase: running twice gives the same bits on every rank; a control that does not is told apart.
//
//   return PropertyCase("repeat")
//       .repeat([](const MeshPtr& mesh) { return Tensors{{"z", forward(mesh)}, ...}; })
//       .negative_control([](const MeshPtr& mesh) { ... the same with a generator seeded by the clock ... });
#pragma once
#include <functional>
#include <string>

#include "mesh/device_mesh.hpp"
#include "parity/harness/named_tensors.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {

class PropertyCase {
 public:
  /// What one rank computes: local tensors by name (outputs, gradients).
  using RankFunction = std::function<Tensors(const MeshPtr&)>;

  explicit PropertyCase(std::string name) : name_(std::move(name)) {}
  PropertyCase& repeat(RankFunction f);
  /// Must give other bits each time; the comparison that judges repeat() has to see it.
  PropertyCase& negative_control(RankFunction f);

  const std::string& name() const { return name_; }
  const RankFunction& repeated() const { return repeat_; }
  const RankFunction& control() const { return control_; }

 private:
  std::string name_;
  RankFunction repeat_, control_;
};

/// Profile "property", on every cell asked for.
Measurement measure_property(const PropertyCase& property, const Request& request);

/// Runs `f` twice on every rank; empty if every tensor of every rank has the same bits, else the first that differs.
std::string repeat_differs(const PropertyCase::RankFunction& f, const Setting& setting);

}  // namespace cpize::parity

/// At global scope: CPIZE_PROPERTY_MAIN(repeat_case)
#define CPIZE_PROPERTY_MAIN(make)                                                                    \
  int main(int argc, char** argv) {                                                                  \
    return cpize::parity::run_ranked_program(argc, argv, [](const cpize::parity::Request& request) { \
      return cpize::parity::measure_property(make(), request);                                       \
    });                                                                                              \
  }
