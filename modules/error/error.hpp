// The error types of CPize: one base, a subclass for each kind of trouble that a caller may want to tell apart.
//
// A message names the thing, the value and the remedy. `exit_code()` is what a command-line program returns:
// 1 failed at run time, 2 bad usage or bad input, 3 critical blocker (something that the machine lacks).
#pragma once
#include <stdexcept>
#include <string>

namespace cpize {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  virtual int exit_code() const { return 1; }
};

/// A bad mesh, launch environment or argument.
class ConfigError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

/// A tensor that breaks the contract of a layout, shape, dtype or mask: a bug in the calling code.
class ContractError : public Error {
 public:
  using Error::Error;
};

/// A file that cannot be read as what it claims to be. `where` is "file", "file:line" or "file, field".
class InputError : public Error {
 public:
  InputError(const std::string& where, const std::string& what) : Error(where + ": " + what) {}
  int exit_code() const override { return 2; }
};

/// Another rank failed or a collective did not match: says which rank and why.
class PeerError : public Error {
 public:
  using Error::Error;
};

/// Out of memory: how much was asked for, where, at what size.
class ResourceError : public Error {
 public:
  using Error::Error;
};

/// Known and not written yet.
class NotImplemented : public Error {
 public:
  using Error::Error;
};

}  // namespace cpize
