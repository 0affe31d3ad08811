// Parity of triangle attention around the starting node.
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/triangle_attention/attention_case.hpp"
#include "trunk/triangle_attention/tri_att_start.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase tri_att_start() {
  return attention_case<trunk::TriAttStart>("tri_att_start", serial::TriangleNode::starting);
}

CPIZE_PARITY_MAIN(tri_att_start)
