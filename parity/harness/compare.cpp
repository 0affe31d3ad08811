#include "parity/harness/compare.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "error/error.hpp"
#include "parity/harness/quantiles.hpp"

namespace cpize::parity {
namespace {

struct Kind {
  std::string label, terms_text;
  double terms;
};

void compare_kind(const BlockCase& block, const Kind& kind, const Tensors& expected, const Tensors& actual,
                  std::vector<Difference>& out) {
  double largest_of_kind = 0;
  for (const auto& [name, e] : expected) largest_of_kind = std::max(largest_of_kind, largest(e));
  const auto& zeros = block.zero_gradients();
  for (const auto& [name, e] : expected) {
    const at::Tensor& a = actual[name];
    if (a.sizes() != e.sizes())
      throw ContractError(block.name() + ": " + kind.label + name + " has another shape than serial's");
    double scale = largest(e);
    const double relative = 16 * std::numeric_limits<double>::epsilon() * std::sqrt(kind.terms);
    // What serial itself has below the rounding of the largest of its kind is zero in exact arithmetic as far as fp64
    // can tell (the logits of a softmax over one token, say): there is no scale in it.
    const bool cancels = scale <= relative * largest_of_kind || std::ranges::find(zeros, name) != zeros.end();
    if (cancels) scale = largest_of_kind;
    const double tolerance = relative * scale;
    char derivation[160];
    std::snprintf(derivation, sizeof derivation, "16 eps sqrt(K = %s = %.0f) scale %.3g%s", kind.terms_text.c_str(),
                  kind.terms, scale, cancels ? " (largest of its kind)" : "");
    // A NaN of the difference survives max(); an infinite value on both sides gives one.
    out.push_back({kind.label + name, largest(a - e), tolerance, derivation});
  }
}

bool worse(const Difference& a, const Difference& b) {
  if (std::isnan(b.difference)) return false;
  return std::isnan(a.difference) || a.difference * b.tolerance > b.difference * a.tolerance;
}

}  // namespace

double largest(const at::Tensor& x) {
  return x.numel() == 0 ? 0 : x.detach().abs().max().to(at::kDouble).item<double>();
}

std::vector<Difference> compare(const BlockCase& block, const SerialRun& serial, const Results& port) {
  if (serial.own) return compare_quantiles(block, serial, port);
  double lengths = 0;
  std::string text;
  for (const auto& dim : block.contraction_lengths()) {
    lengths += static_cast<double>(size_of(dim, serial.run.sizes));
    text += (text.empty() ? "" : "+") + dim;
  }
  double positions = 1;
  for (const auto& [name, output] : serial.results.outputs)
    if (output.numel() > 0) positions = std::max(positions, static_cast<double>(output.numel() / output.size(-1)));

  std::vector<Difference> differences;
  compare_kind(block, {"output ", text, lengths}, serial.results.outputs, port.outputs, differences);
  compare_kind(block, {"input gradient ", "2(" + text + ")", 2 * lengths}, serial.results.input_gradients,
               port.input_gradients, differences);
  compare_kind(block, {"gradient ", "2(" + text + ") + positions", 2 * lengths + positions},
               serial.results.parameter_gradients, port.parameter_gradients, differences);
  return differences;
}

const Difference* first_failure(const std::vector<Difference>& differences) {
  for (const auto& d : differences)
    if (!(d.difference <= d.tolerance)) return &d;
  return nullptr;
}

void keep_worst(std::vector<Difference>& worst, const std::vector<Difference>& more, const std::string& run) {
  for (Difference d : more) {
    d.derivation += ", run " + run;
    const auto it = std::ranges::find(worst, d.name, &Difference::name);
    if (it == worst.end())
      worst.push_back(std::move(d));
    else if (worse(d, *it))
      *it = std::move(d);
  }
}

}  // namespace cpize::parity
