#include "parity/harness/quantiles.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "error/error.hpp"

namespace cpize::parity {
namespace {

constexpr double kLeastBeyond = 30;  // elements on either side of a quantile

/// The shares that mean something for a tensor of `elements`; the maximum always does.
std::vector<double> shares_for(std::int64_t elements) {
  std::vector<double> shares;
  for (const double share : {0.5, 0.9, 0.99})
    if (static_cast<double>(elements) * std::min(share, 1 - share) >= kLeastBeyond) shares.push_back(share);
  shares.push_back(1);
  return shares;
}

void compare_kind(const BlockCase& block, const SerialRun& serial, const std::string& label, const Tensors& truth,
                  const Tensors& own, const Tensors& port, std::vector<Difference>& out) {
  const double u = serial.setting.unit_roundoff();
  const std::string dtype = serial.setting.dtype_name();
  double largest_of_kind = 0;
  for (const auto& [name, t] : truth) largest_of_kind = std::max(largest_of_kind, largest(t));
  const auto& zeros = block.zero_gradients();
  for (const auto& [name, t] : truth) {
    const at::Tensor& p = port[name];
    if (p.sizes() != t.sizes())
      throw ContractError(block.name() + ": " + label + name + " has another shape than serial's");
    const bool cancels = largest(t) == 0 || std::ranges::find(zeros, name) != zeros.end();
    const auto shares = shares_for(t.numel());
    const auto values = quantiles_of(t.abs(), shares), mine = quantiles_of((p - t).abs(), shares),
               theirs = quantiles_of((own[name] - t).abs(), shares);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const bool is_maximum = shares[i] == 1;
      const double value = cancels ? largest_of_kind : values[i], times = is_maximum ? 4 : 2;
      const double rest = is_maximum ? 0 : u * u * values.back();
      char share[40] = "", derivation[200];
      if (!is_maximum) std::snprintf(share, sizeof share, ", %.0f %% quantile", 100 * shares[i]);
      std::snprintf(derivation, sizeof derivation, "%.0f x serial's own %s error %.3g + %.0f u (%.3g) x %.3g%s%s",
                    times, dtype.c_str(), theirs[i], times / 2, u, value, cancels ? " (largest of its kind)" : "",
                    is_maximum ? "" : " + u^2 x largest");
      out.push_back({label + name + share, mine[i], times * theirs[i] + times / 2 * u * value + rest, derivation});
    }
  }
}

}  // namespace

std::vector<double> quantiles_of(const at::Tensor& values, const std::vector<double>& shares) {
  const at::Tensor flat = values.detach().to(at::kCPU).to(at::kDouble).contiguous().flatten();
  if (flat.numel() == 0) return std::vector<double>(shares.size(), 0);
  if (flat.isnan().any().item<bool>())
    return std::vector<double>(shares.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> all(flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel());
  std::vector<double> found;
  for (const double share : shares) {
    const auto at = static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(all.size()))) - 1;
    std::nth_element(all.begin(), all.begin() + at, all.end());
    found.push_back(all[static_cast<std::size_t>(at)]);
  }
  return found;
}

std::vector<Difference> compare_quantiles(const BlockCase& block, const SerialRun& serial, const Results& port) {
  std::vector<Difference> out;
  const Results &truth = serial.results, &own = serial.own.value();
  compare_kind(block, serial, "output ", truth.outputs, own.outputs, port.outputs, out);
  compare_kind(block, serial, "input gradient ", truth.input_gradients, own.input_gradients, port.input_gradients, out);
  compare_kind(block, serial, "gradient ", truth.parameter_gradients, own.parameter_gradients, port.parameter_gradients,
               out);
  return out;
}

}  // namespace cpize::parity
