#include <layout/redistribute.hpp>

double redistribute(double x) { return x; }
