// The toy communication step: returns its argument.
#pragma once
#include "layout/spec.hpp"
double redistribute(double x);
