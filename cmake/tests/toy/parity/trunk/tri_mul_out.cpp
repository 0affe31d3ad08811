#include "trunk/tri_mul_out.hpp"

#include "parity/measure.hpp"
#include "serial/serial.hpp"

int case_tri_mul_out() { return measure("block", tri_mul_out(3), serial_triangle(3)); }
