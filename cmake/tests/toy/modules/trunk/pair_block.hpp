// The composition of the toy model.
#pragma once
double pair_block(double x);
