#include "serial/serial.hpp"

double serial_transition(double x) { return x + 1; }
double serial_triangle(double x) { return 2 * x; }
