// A port of the toy model.
#pragma once
double tri_mul_out(double x);
