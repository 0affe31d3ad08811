#include "trunk/transition.hpp"

#include "parity/measure.hpp"
#include "serial/serial.hpp"

int case_transition() { return measure("block", transition(3), serial_transition(3)); }
