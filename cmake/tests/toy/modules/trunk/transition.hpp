// A port of the toy model.
#pragma once
double transition(double x);
