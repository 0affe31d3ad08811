#include "trunk/tri_mul_out.hpp"

#include "trunk/tri_common.hpp"

double tri_mul_out(double x) { return triangle(x); }
