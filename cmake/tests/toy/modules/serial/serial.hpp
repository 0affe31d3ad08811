// The ground truth of the toy model.
#pragma once
double serial_transition(double x);
double serial_triangle(double x);
