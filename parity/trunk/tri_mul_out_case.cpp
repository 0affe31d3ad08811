// Parity of the outgoing triangle multiplication.
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/triangle_case.hpp"
#include "trunk/tri_mul_out.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase tri_mul_out() {
  return triangle_case<trunk::TriMulOut>("tri_mul_out", serial::TriangleDirection::outgoing);
}

CPIZE_PARITY_MAIN(tri_mul_out)
