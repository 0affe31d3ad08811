// Uses a library of CPize that needs no torch; has a warning that must stay one.
#include "error/error.hpp"

int main() {
  int unused = 0;
  try {
    throw cpize::ConfigError("as expected");
  } catch (const cpize::Error&) {
    return 0;
  }
  return 1;
}
