// Parity of the incoming triangle multiplication.
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/triangle_case.hpp"
#include "trunk/tri_mul_in.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase tri_mul_in() {
  return triangle_case<trunk::TriMulIn>("tri_mul_in", serial::TriangleDirection::incoming);
}

CPIZE_PARITY_MAIN(tri_mul_in)
