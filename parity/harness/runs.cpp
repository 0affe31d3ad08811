#include "parity/harness/runs.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "error/error.hpp"
#include "layout/box.hpp"

namespace cpize::parity {
namespace {

constexpr std::int64_t kWildInteger = 1'000'003;

std::int64_t not_divisible(std::int64_t start, const MeshShape& mesh, std::initializer_list<Axis> axes) {
  for (std::int64_t n = start;; ++n)
    if (std::ranges::all_of(axes, [&](Axis a) { return mesh.extent(a) == 1 || n % mesh.extent(a) != 0; })) return n;
}

Shape shape_of(const TensorInfo& info, const Sizes& sizes) {
  Shape shape;
  for (const auto& dim : info.dims) shape.push_back(size_of(dim, sizes));
  return shape;
}

at::Tensor draw_mask(const TensorInfo& info, const Run& run, at::Generator& generator) {
  const Shape shape = shape_of(info, run.sizes);
  const auto options = at::TensorOptions().dtype(at::kDouble);
  switch (run.mask) {
    case MaskKind::none:
      return at::zeros(shape, options);
    case MaskKind::all:
      return at::ones(shape, options);
    case MaskKind::random:
      return at::rand(shape, generator, options).gt(0.35).to(at::kDouble);
    case MaskKind::one: {
      at::Tensor mask = at::zeros(shape, options);
      const at::Tensor rows = mask.view({shape[0], -1});
      for (std::int64_t b = 0; b < shape[0]; ++b) rows[b][(5 * b + rows.size(1) / 2) % rows.size(1)] = 1;
      return mask;
    }
    case MaskKind::prefix: {
      at::Tensor mask = at::ones(shape, options);
      for (std::size_t d = 0; d < info.dims.size(); ++d)
        if (info.dims[d] == "N") mask.slice(static_cast<std::int64_t>(d), run.valid_tokens).zero_();
      return mask;
    }
  }
  throw ContractError("unknown kind of mask");
}

at::Tensor padding_value(const BlockCase& block, const at::Tensor& like, Padding padding, const Setting& setting) {
  if (padding == Padding::zero) return at::zeros({}, like.options());
  if (!like.is_floating_point()) return at::full({}, kWildInteger, like.options());
  if (block.pads_with_nan()) return at::full({}, std::numeric_limits<double>::quiet_NaN(), like.options());
  // It varies along the channels: the norm of a constant row is 0 / 0 up to eps, so that one rounding of its mean would
  // come out 1e10 times as large, and its square further on as infinity.
  return at::linspace(setting.poison() / 2, setting.poison(), like.size(-1), like.options());
}

}  // namespace

at::Generator generator_for(const std::string& purpose) {
  std::uint64_t seed = 1469598103934665603ull;  // FNV-1a: the same on every machine
  for (const unsigned char c : purpose) seed = (seed ^ c) * 1099511628211ull;
  return at::make_generator<at::CPUGeneratorImpl>(seed);
}

std::int64_t size_of(const std::string& dim, const Sizes& sizes) {
  if (!dim.empty() && dim.find_first_not_of("0123456789") == std::string::npos) return std::stoll(dim);
  return sizes[dim];
}

std::vector<Run> runs_for(const BlockCase& block, const Setting& setting,
                          const std::map<std::string, std::int64_t>& overrides) {
  const MeshShape& mesh = setting.mesh;
  const std::int64_t dp = mesh.extent(Axis::dp), cp0 = mesh.extent(Axis::cp0), cp1 = mesh.extent(Axis::cp1);
  const std::int64_t longest = std::max(cp0, cp1), both = std::lcm(cp0, cp1);
  const std::int64_t batch = not_divisible(2, mesh, {Axis::dp}), batch_even = 2 * dp;
  // A sample with one valid position, or of one token, makes few values, whose rounding errors are one draw: take more.
  const std::int64_t many = setting.low_precision() ? 16 * dp : batch_even;
  const std::int64_t many_uneven = setting.low_precision() ? not_divisible(16, mesh, {Axis::dp}) : batch;
  const auto uneven = [&](std::int64_t n) { return not_divisible(n, mesh, {Axis::cp0, Axis::cp1}); };
  const auto even = [&](std::int64_t n) { return both * std::max<std::int64_t>(1, (n + both - 1) / both); };
  const auto sizes = [&](const Sizes& widths, std::int64_t b, std::int64_t n) {
    Sizes s = block.sizes();
    for (const auto& [letter, value] : widths) s.set(letter, value);
    s.set("B", b);
    s.set("N", n);
    for (const auto& [letter, value] : overrides) s.set(letter, value);
    return s;
  };
  const Sizes own = setting.low_precision() ? block.precision_sizes() : Sizes{{"N", 7}};
  const std::int64_t n = own["N"], padded = std::max<std::int64_t>(n - 2, 2 * longest - 1);
  std::vector<Run> runs{{"uneven/random", sizes(own, batch, uneven(n)), MaskKind::random},
                        {"uneven/one", sizes(own, many_uneven, uneven(n)), MaskKind::one},
                        {"uneven/none", sizes(own, batch, uneven(n)), MaskKind::none},
                        {"even/all", sizes(own, batch_even, even(n - 1)), MaskKind::all},
                        {"even/random", sizes(own, batch_even, even(n - 1)), MaskKind::random},
                        {"padding/prefix", sizes(own, batch_even, padded), MaskKind::prefix},
                        {"scarce/all", sizes(own, many, std::max<std::int64_t>(1, longest - 1)), MaskKind::all}};
  if (setting.low_precision() && setting.device_type != at::kCPU) {
    const Sizes& fused = block.fused_sizes();
    const std::int64_t wide = fused["N"];
    runs.push_back({"fused uneven/random", sizes(fused, dp, uneven(wide)), MaskKind::random});
    runs.push_back({"fused even/all", sizes(fused, dp, even(wide + 31)), MaskKind::all});
    runs.push_back({"fused padding/prefix", sizes(fused, dp, uneven(wide - wide / 4)), MaskKind::prefix});
  }
  // Valid tokens end where the last shard of the shorter axis begins (of the longer one, if the shorter is 1).
  const std::int64_t shorter = std::min(cp0, cp1) > 1 ? std::min(cp0, cp1) : std::max<std::int64_t>(longest, 2);
  for (auto& run : runs) {
    const std::int64_t tokens = run.sizes["N"];
    run.valid_tokens =
        run.mask == MaskKind::prefix ? std::max<std::int64_t>(1, tokens * (shorter - 1) / shorter) : tokens;
  }
  return runs;
}

at::Tensor valid_positions(const BlockCase& block, const TensorInfo& info, const Tensors& inputs, const Shape& shape) {
  if (info.mask.empty()) return at::ones(shape, at::kBool);
  const TensorInfo& mask_info = block.input_named(info.mask);
  at::Tensor valid = inputs[info.mask].ne(0);
  const auto& m = mask_info.dims;
  const auto starts_with_mask =
      std::equal(m.begin(), m.end(), info.dims.begin(), info.dims.begin() + std::min(info.dims.size(), m.size()));
  if (!starts_with_mask)
    throw ContractError(block.name() + ": the dimensions of mask '" + info.mask + "' are not the first of '" +
                        info.name + "'");
  auto depth = static_cast<std::int64_t>(m.size());
  if (info.dims.size() > m.size() && info.dims[m.size()] == m.back()) {  // [B,N] on [B,N,N,...]
    valid = valid.unsqueeze(-1).logical_and(valid.unsqueeze(-2));
    ++depth;
  }
  for (std::size_t d = depth; d < shape.size(); ++d) valid = valid.unsqueeze(-1);
  return valid.expand(shape);
}

at::Tensor as_given(const TensorInfo& info, const at::Tensor& value, const Setting& setting) {
  if (!value.is_floating_point()) return value.to(setting.device());
  return value.to(setting.device(), info.kind == TensorInfo::Kind::activation ? setting.dtype : setting.wide());
}

Tensors make_inputs(const BlockCase& block, const Run& run, Padding padding, const Setting& setting) {
  const auto generator = [&](const std::string& name) {
    return generator_for(block.name() + " input " + name + " " + run.name + " " + str(run.sizes));
  };
  Tensors inputs;
  for (const auto& info : block.inputs())
    if (info.kind == TensorInfo::Kind::mask) {
      at::Generator g = generator(info.name);
      inputs.set(info.name, draw_mask(info, run, g));
    }
  for (const auto& info : block.inputs()) {
    if (info.kind == TensorInfo::Kind::mask) continue;
    at::Generator g = generator(info.name);
    const Shape shape = shape_of(info, run.sizes);
    at::Tensor value = info.values ? info.values(run.sizes, g) : at::randn(shape, g, at::kDouble);
    if (value.sizes() != at::IntArrayRef(shape))
      throw ContractError(block.name() + ": values() of '" + info.name + "' gave another shape than declared");
    if (value.is_floating_point())
      value = value.to(info.kind == TensorInfo::Kind::activation ? setting.dtype : setting.wide()).to(at::kDouble);
    if (padding != Padding::random && !info.mask.empty())
      value =
          at::where(valid_positions(block, info, inputs, shape), value, padding_value(block, value, padding, setting));
    inputs.set(info.name, value);
  }
  return inputs;
}

Tensors make_output_gradients(const BlockCase& block, const Run& run, const Tensors& outputs, const Tensors& inputs,
                              bool zero_where_masked, const Setting& setting) {
  Tensors gradients;
  for (const auto& info : block.outputs()) {
    const Shape shape = outputs[info.name].sizes().vec();
    if (shape != shape_of(info, run.sizes))
      throw ContractError(block.name() + ": the serial output '" + info.name + "' has another shape than declared");
    at::Generator g = generator_for(block.name() + " output gradient " + info.name + " " + run.name);
    at::Tensor gradient = at::randn(shape, g, at::kDouble).to(setting.dtype).to(at::kDouble);
    if (zero_where_masked)
      gradient = at::where(valid_positions(block, info, inputs, shape), gradient, at::zeros({}, gradient.options()));
    gradients.set(info.name, gradient);
  }
  return gradients;
}

}  // namespace cpize::parity
