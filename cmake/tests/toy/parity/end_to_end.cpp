#include "parity/measure.hpp"
#include "serial/serial.hpp"
#include "trunk/pair_block.hpp"

int main(int argc, char**) {
  return measure(argc > 1 ? "property" : "block", pair_block(3),
                 serial_transition(serial_triangle(serial_triangle(3))));
}
