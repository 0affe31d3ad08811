#include "trunk/pair_block.hpp"

#include "trunk/transition.hpp"
#include "trunk/tri_mul_in.hpp"
#include "trunk/tri_mul_out.hpp"

double pair_block(double x) { return transition(tri_mul_in(tri_mul_out(x))); }
