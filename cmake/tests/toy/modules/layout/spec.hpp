// A layout of the toy library.
#pragma once
struct Spec {
  int dimension;
};
