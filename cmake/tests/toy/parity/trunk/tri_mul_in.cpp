#include "trunk/tri_mul_in.hpp"

#include "parity/measure.hpp"
#include "serial/serial.hpp"

int case_tri_mul_in() { return measure("block", tri_mul_in(3), serial_triangle(3)); }
