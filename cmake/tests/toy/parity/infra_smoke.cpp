#include "parity/measure.hpp"

int main() { return measure("infra", 1, 1); }
