#include "trunk/pair_block.hpp"

#include "parity/measure.hpp"
#include "serial/serial.hpp"

int main() { return measure("block", pair_block(3), serial_transition(serial_triangle(serial_triangle(3)))); }
