#include "parity/measure.hpp"

int main() { return measure("bench", 1, 1); }
