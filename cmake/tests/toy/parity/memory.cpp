#include "parity/measure.hpp"

int main() { return measure("profile", 1, 1); }
