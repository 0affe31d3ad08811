// Cost: bytes sent and bytes held by the busiest rank at one large size, against the bounds that a case states.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "mesh/mesh_shape.hpp"
#include "parity/harness/measurement.hpp"
#include "parity/harness/named_tensors.hpp"
#include "parity/harness/setting.hpp"

namespace cpize::parity {

class BlockCase;

/// Where a bound is evaluated: sizes (B and N among them), mesh, bytes of one element of an activation.
struct CostPoint {
  Sizes sizes;
  MeshShape mesh;
  double element_bytes = 8;

  double q() const { return mesh.cp_size(); }
  /// b(C) = B N N C / Q elements, in bytes; B counted per dp rank.
  double b(const std::string& channels = "C") const {
    const double n = static_cast<double>(sizes["N"]);
    return element_bytes * static_cast<double>(sizes["B"]) / mesh.extent(Axis::dp) * n * n *
           static_cast<double>(sizes[channels]) / q();
  }
};
using CostBound = std::function<double(const CostPoint&)>;

/// sent_bytes.forward, sent_bytes.backward  what redistribute sends, without reduce_gradients
/// peak_bytes.forward   most bytes held above inputs and parameters, grad mode off (the output counts)
/// peak_bytes.step      the same over forward and backward (input and parameter gradients count)
/// saved_bytes          held between forward and backward, without inputs and outputs
const std::vector<std::string>& cost_counters();

/// Runs the port once more at cost_size() in the setting (on a GPU at four times its N or more, since an
/// allocator's granularity and the work spaces of libraries are constants) and adds the counters, and serial's own
/// peaks where they fit, to `cell`. Does nothing where the case has no cost size.
void measure_cost(const BlockCase& block, const Setting& setting, Cell& cell);

}  // namespace cpize::parity
