#include "parity/measure.hpp"

int main() { return measure("feature", 1, 1); }
