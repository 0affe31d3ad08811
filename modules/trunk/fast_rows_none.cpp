// Without CUDA there are no fast rows.
#include "error/error.hpp"
#include "trunk/fast_rows.hpp"

namespace cpize::trunk {
namespace {

[[noreturn]] void refuse() { throw NotImplemented("this build has no GPU kernels (CPIZE_CUDA is OFF)"); }

}  // namespace

bool fast_rows(const at::Tensor&, const Precision&) { return false; }
at::Tensor fast_normalise(const at::Tensor&, const at::Tensor&, const at::Tensor&) { refuse(); }
at::Tensor fast_normalise_backward(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                   const at::Tensor&) {
  refuse();
}
void fast_gate(const at::Tensor&, const at::Tensor&) { refuse(); }
void fast_gate_backward(const at::Tensor&, const at::Tensor&, const at::Tensor&) { refuse(); }

}  // namespace cpize::trunk
