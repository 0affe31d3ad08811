#include "parity/measure.hpp"

int main() { return measure("map", 1, 1); }
