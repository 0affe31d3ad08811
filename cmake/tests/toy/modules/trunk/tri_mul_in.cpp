#include "trunk/tri_mul_in.hpp"

#include "trunk/tri_common.hpp"

double tri_mul_in(double x) { return triangle(x); }
