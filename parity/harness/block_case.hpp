// BlockCase: everything the harness needs to know about one port: the serial block, the port, their inputs and costs.
//
//   BlockCase tri_mul_out_case() {
//     return BlockCase("tri_mul_out")
//         .input<Pair>("z", {"B", "N", "N", "C"}).masked_by("mask")
//         .mask<Pair>("mask", {"B", "N", "N"})
//         .output("z", {"B", "N", "N", "C"}).masked_by("mask")
//         .serial([](const Sizes& s) { return serial::TriangleMultiplication(s["C"], outgoing); },
//                 [](auto& block, const Tensors& in) { return Tensors{{"z", block(in["z"], in["mask"])}}; })
//         .port([](const Sizes& s) { return trunk::TriangleMultiplication(s["C"], outgoing); },
//               [](auto& block, const ShardedTensors& in) {
//                 return ShardedTensors{{"z", block(in.get<Pair>("z"), in.get<Pair>("mask"))}};
//               })
//         .contraction({"N", "C", "C"});
//   }
//   CPIZE_PARITY_MAIN(tri_mul_out_case)
//
// B and N are chosen by the harness, C is 8 unless size() says otherwise. What is proved: parity/harness/README.md.
#pragma once
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "parity/harness/cost.hpp"
#include "parity/harness/named_tensors.hpp"

namespace cpize::parity {

/// A constructed block: its parameters (null: it has none) and its forward.
template <class In, class Out>
struct BuiltBlock {
  std::shared_ptr<torch::nn::Module> module;
  std::function<Out(const In&)> forward;
};
using SerialBlock = BuiltBlock<Tensors, Tensors>;
using PortedBlock = BuiltBlock<ShardedTensors, ShardedTensors>;

using ValueSource = std::function<at::Tensor(const Sizes&, at::Generator&)>;

struct TensorInfo {
  enum class Kind { activation, feature, mask, output };
  std::string name;
  std::vector<std::string> dims;  // a letter of Sizes, or a number
  Kind kind = Kind::activation;
  Spec spec{};         // not of outputs: there the port's own layout counts
  std::string family;  // likewise
  std::string mask;    // which mask says where it is valid; empty: everywhere
  ValueSource values;  // empty: standard normal; required of features
};

class BlockCase {
 public:
  explicit BlockCase(std::string name) : name_(std::move(name)) {}

  /// A differentiable input (fp64, or the cell's dtype), standard normal unless values() follows.
  template <class L>
  BlockCase& input(const std::string& name, std::vector<std::string> dims) {
    return declare({name, std::move(dims), TensorInfo::Kind::activation, L::spec, L::Family::name, "", {}});
  }
  /// An input without gradient (indices, one-hot types); values() must follow.
  template <class L>
  BlockCase& feature(const std::string& name, std::vector<std::string> dims) {
    return declare({name, std::move(dims), TensorInfo::Kind::feature, L::spec, L::Family::name, "", {}});
  }
  /// 1 valid, 0 padding, drawn by the harness. Name one even where the block does not read it: it says where the
  /// padding is, and padding must not matter.
  template <class L>
  BlockCase& mask(const std::string& name, std::vector<std::string> dims) {
    return declare({name, std::move(dims), TensorInfo::Kind::mask, L::spec, L::Family::name, "", {}});
  }
  BlockCase& output(const std::string& name, std::vector<std::string> dims) {
    return declare({name, std::move(dims), TensorInfo::Kind::output, {}, "", "", {}});
  }

  /// Of the tensor named last: where this mask is 0 there is padding. A token mask [B,N] stands for its outer product
  /// on tensors [B,N,N,...].
  BlockCase& masked_by(const std::string& mask);
  /// Of the input named last: how it is drawn. Padding is filled in by the harness.
  BlockCase& values(ValueSource source);

  /// Channel sizes and the like; B and N are set by the harness.
  BlockCase& size(const std::string& letter, std::int64_t value);

  /// make(sizes) gives a module holder or a shared_ptr to a module; forward(block, Tensors) gives Tensors.
  template <class Make, class Forward>
  BlockCase& serial(Make make, Forward forward) {
    serial_ = build<Tensors, Tensors>(std::move(make), std::move(forward));
    return *this;
  }
  /// The same on ShardedTensors. Parameters carry the names of the serial block's; the harness fills in their values.
  template <class Make, class Forward>
  BlockCase& port(Make make, Forward forward) {
    port_ = build<ShardedTensors, ShardedTensors>(std::move(make), std::move(forward));
    return *this;
  }
  /// Of functions without parameters: forward(Tensors) and forward(ShardedTensors).
  template <class Forward>
  BlockCase& serial(Forward forward) {
    serial_ = [forward](const Sizes&) { return SerialBlock{nullptr, forward}; };
    return *this;
  }
  template <class Forward>
  BlockCase& port(Forward forward) {
    port_ = [forward](const Sizes&) { return PortedBlock{nullptr, forward}; };
    return *this;
  }

  /// The lengths of the sums that one output element passes through, one after the other: letters or numbers. Their
  /// total is the K of the error budget (compare.hpp).
  BlockCase& contraction(std::vector<std::string> lengths);

  /// For a composition: padding of the inputs holds NaN (integers: a wild number) instead of 1e30 (1e15 in fp32, bf16).
  BlockCase& padding_is_nan();

  /// Parameters whose gradient is zero in exact arithmetic. The harness checks that serial's is rounding, too.
  BlockCase& zero_gradient(std::vector<std::string> parameters);

  /// How far parameters are moved from where they start (parameters.hpp), 1 unless said. Full strength makes a deep
  /// composition chaotic: every layer multiplies the rounding of the one before, which no error budget of sums covers.
  BlockCase& perturbation(double strength);

  /// fp32 and bf16: the N that the runs start from, and other widths if the case's own are too small for quantiles of
  /// errors. Default: N = 37.
  BlockCase& precision_size(Sizes sizes);
  /// fp32 and bf16 on CUDA: sizes at which fused kernels take part; N is a start again. Default: N = 97, C = 128.
  BlockCase& fused_size(Sizes sizes);

  /// Where bytes and peaks are measured: large enough that constants do not matter. B is the extent of dp.
  BlockCase& cost_size(Sizes sizes);
  /// Upper bound, in bytes, of one of the counters of cost.hpp.
  BlockCase& bound(const std::string& counter, CostBound bytes);

  const std::string& name() const { return name_; }
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  const TensorInfo& input_named(const std::string& name) const;
  const Sizes& sizes() const { return sizes_; }
  const std::vector<std::string>& contraction_lengths() const { return contraction_; }
  bool pads_with_nan() const { return nan_padding_; }
  double perturbation_strength() const { return perturbation_; }
  const std::vector<std::string>& zero_gradients() const { return zero_gradients_; }
  const Sizes& precision_sizes() const { return precision_sizes_; }
  const Sizes& fused_sizes() const { return fused_sizes_; }
  const Sizes& cost_sizes() const { return cost_sizes_; }
  const std::map<std::string, CostBound>& bounds() const { return bounds_; }

  SerialBlock make_serial(const Sizes& sizes) const { return serial_(sizes); }
  PortedBlock make_port(const Sizes& sizes) const { return port_(sizes); }
  /// ContractError where something is missing or contradicts itself.
  void check() const;

 private:
  BlockCase& declare(TensorInfo info);
  TensorInfo& last();

  template <class In, class Out, class Make, class Forward>
  static std::function<BuiltBlock<In, Out>(const Sizes&)> build(Make make, Forward forward) {
    return [make, forward](const Sizes& sizes) {
      auto block = std::make_shared<std::decay_t<decltype(make(sizes))>>(make(sizes));
      std::shared_ptr<torch::nn::Module> module;
      if constexpr (requires { block->ptr(); })
        module = block->ptr();  // a TORCH_MODULE holder
      else
        module = *block;
      return BuiltBlock<In, Out>{module, [block, forward](const In& in) -> Out { return forward(*block, in); }};
    };
  }

  std::string name_;
  std::vector<TensorInfo> inputs_, outputs_;
  bool last_is_output_ = false;
  Sizes sizes_{{"C", 8}};
  std::vector<std::string> contraction_, zero_gradients_;
  bool nan_padding_ = false;
  double perturbation_ = 1;
  Sizes cost_sizes_, precision_sizes_{{"N", 37}}, fused_sizes_{{"N", 97}, {"C", 128}};
  std::map<std::string, CostBound> bounds_;
  std::function<SerialBlock(const Sizes&)> serial_;
  std::function<PortedBlock(const Sizes&)> port_;
};

}  // namespace cpize::parity
