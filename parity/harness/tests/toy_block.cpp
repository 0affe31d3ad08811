#include "parity/harness/tests/toy_block.hpp"

#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

namespace cpize::parity {
namespace {

torch::nn::Linear linear(std::int64_t in, std::int64_t out) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
}

}  // namespace

ToyWeightsImpl::ToyWeightsImpl(std::int64_t channels, const std::string& name_of_u)
    : p(register_module("p", linear(channels, 2 * channels))),
      g(register_module("g", linear(channels, channels))),
      w(register_module("w", linear(channels, channels))),
      u(register_module(name_of_u, linear(channels, channels))) {
  torch::nn::init::zeros_(w->weight);
}

std::pair<at::Tensor, at::Tensor> ToySerialImpl::forward(const at::Tensor& z, const at::Tensor& s,
                                                         const at::Tensor& mask) {
  const at::Tensor projected = p(z);
  const auto ab = (projected * mask.to(projected.scalar_type()).unsqueeze(-1)).chunk(2, -1);
  const at::Tensor o = at::einsum("bikd,bjkd->bijd", {ab[0], ab[1]}), t = u(s);
  return {w(o) * at::sigmoid(g(z)) + t.unsqueeze(2), t};
}

std::pair<Sharded<Pair>, Sharded<SingleRow>> ToyPortImpl::forward(const Sharded<Pair>& z, const Sharded<SingleRow>& s,
                                                                  const Sharded<Pair>& mask) {
  const Coordinates& at = z.mesh()->coordinates();
  at::Tensor input = z.local();
  if (mutant == Mutant::holds_everything) input = input + 0 * redistribute<Whole<TokenPair>>(z).local().sum();

  const bool drops = mutant == Mutant::drops_gradient && z.mesh()->rank() == 0;
  at::Tensor projected = at::linear(input, drops ? p->weight.detach() : p->weight);
  if (mutant != Mutant::ignores_mask) projected = projected * mask.local().to(projected.scalar_type()).unsqueeze(-1);
  if (mutant == Mutant::leaks_padding) projected = projected + 1e-20 * input.sum();

  // Channels over the whole grid: each rank multiplies its own channels for all i, j, k.
  const auto halves = projected.chunk(2, -1);
  const auto a = redistribute<PairByChannel>(z.with(halves[0])), b = redistribute<PairByChannel>(z.with(halves[1]));
  const at::Tensor x = a.local().permute({0, 3, 1, 2}), y = b.local().permute({0, 3, 1, 2});
  const at::Tensor product = x.matmul(mutant == Mutant::not_transposed ? y : y.mT());
  at::Tensor o = redistribute<Pair>(wrap<PairByChannel>(product.permute({0, 2, 3, 1}), z.global(), z.mesh())).local();
  if (mutant == Mutant::rounds_early) {  // to 1/128, in bf16 to 1/4
    const double bits = o.scalar_type() == at::kBFloat16 ? 4 : 128;
    o = o + (at::round(o.detach() * bits) / bits - o.detach());
  }
  if (mutant == Mutant::off_by_one && at[cp0] > 0) o = o.roll(1, 1);

  at::Tensor weight = u->weight;
  if (mutant == Mutant::averages_axis) {  // the value of the weight, a part of its gradient
    const at::Tensor part = weight / z.mesh()->shape().extent(cp1);
    weight = part + (weight - part).detach();
  }
  at::Tensor t = at::linear(s.local(), weight);
  at::Tensor replica = t;
  if (mutant == Mutant::replicas_differ) {  // the neighbour of each value in its dtype
    const double step = t.scalar_type() == at::kBFloat16 ? 8e-3 : t.scalar_type() == at::kFloat ? 2e-7 : 3e-16;
    replica = t * (1 + step * at[cp1]);
  }
  return {z.with(w(o) * at::sigmoid(g(input)) + t.unsqueeze(2)), s.with(replica)};
}

}  // namespace cpize::parity
