// ProfiledModel: a parity case as phase 6 looks at it: the scopes that its forward runs in, and what each may hold.
//
// Budgets are rule 11 of the project (single O(N/P), pair O(N^2/Q), forward and backward) with the figures that the
// design's cost table and the headers of the ports state. Units: b = B N N C / Q elements, the largest shard of z;
// t = B ceil(N / Q) elements, one channel of this rank's tokens.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "profile/case_step.hpp"

namespace cpize::profile {

struct ScopeBudget {
  std::string scope;
  double forward = 0, saved = 0, step = 0;  // bytes; saved: what lives between forward and backward
  std::string source;
};

struct ProfiledModel {
  std::string title;  // "the trunk"
  parity::BlockCase block;
  std::vector<std::string> scopes;  // in the order in which they first run
  /// One entry a scope. `parameters(scope)` gives the bytes of a scope's parameters, whose gradients it may hold twice
  /// (the sum and what autograd takes): they do not depend on N.
  std::function<std::vector<ScopeBudget>(const parity::CostPoint&, const std::function<double(const std::string&)>&)>
      budgets;
  /// The whole step: what the budgets add up to.
  std::function<ScopeBudget(const parity::CostPoint&, double parameter_bytes)> whole;
  /// Whether a parameter belongs to a scope.
  std::function<bool(const std::string& parameter, const std::string& scope)> belongs;
};

/// Where budgets are evaluated.
parity::CostPoint cost_point(const CaseProblem& problem);
/// Of the largest shard: balanced shards of an uneven size differ by one row or column.
double pair_shard_bytes(const parity::CostPoint& point);
double token_channel_bytes(const parity::CostPoint& point);

/// Bytes of a module's parameters that belong to a scope.
double parameter_bytes_of(const ProfiledModel& model, const torch::nn::Module* module, const std::string& scope);

/// "mesh 1x2x2 over threads, Double, N = 96, C = 64", or "serial, ...".
std::string title_of(const CaseProblem& problem, bool serial = false);

}  // namespace cpize::profile
