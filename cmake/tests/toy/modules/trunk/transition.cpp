#include "trunk/transition.hpp"

double transition(double x) { return x + 1; }
