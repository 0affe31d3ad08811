// Parity of triangle attention around the ending node.
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/triangle_attention/attention_case.hpp"
#include "trunk/triangle_attention/tri_att_end.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase tri_att_end() { return attention_case<trunk::TriAttEnd>("tri_att_end", serial::TriangleNode::ending); }

CPIZE_PARITY_MAIN(tri_att_end)
