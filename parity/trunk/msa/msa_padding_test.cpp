// Padding in the MSA track: a row of the alignment that is masked as a whole, a token that is padding, more ranks than
// rows. Whatever the padding holds, valid values and all gradients keep their bits, and are those of the serial block.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <map>
#include <mutex>
#include <string>

#include "comm/run_ranks.hpp"
#include "layout/reduce_gradients.hpp"
#include "parity/harness/assemble.hpp"
#include "serial/outer_product_mean.hpp"
#include "serial/pair_weighted_averaging.hpp"
#include "trunk/msa/outer_product_mean.hpp"
#include "trunk/msa/pair_weighted_averaging.hpp"

namespace cpize::trunk {
namespace {

constexpr std::int64_t kRows = 3, kTokens = 5, kMsa = 6, kPairs = 8;
const MeshShape kMesh(1, 3, 3);
using Results = std::map<std::string, at::Tensor>;

/// Token 4 is padding; row 1 is masked as a whole; row 2 lacks token 0.
struct Inputs {
  at::Tensor tokens = at::ones({1, kTokens}, at::kDouble), msa_mask = at::ones({1, kRows, kTokens}, at::kDouble);
  at::Tensor pair_mask, m, z, dm, dz;

  explicit Inputs(double padding) {
    tokens.select(1, 4).zero_();
    msa_mask.select(1, 1).zero_();
    msa_mask.select(2, 4).zero_();
    msa_mask[0][2][0] = 0;
    pair_mask = tokens.unsqueeze(2) * tokens.unsqueeze(1);
    torch::manual_seed(5);
    const auto draw = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
    m = draw({1, kRows, kTokens, kMsa});
    z = draw({1, kTokens, kTokens, kPairs});
    dm = draw(m.sizes()) * tokens.unsqueeze(1).unsqueeze(3);
    dz = draw({1, kTokens, kTokens, 4}) * pair_mask.unsqueeze(3);
    m.select(2, 4).fill_(padding);
    z.masked_fill_(pair_mask.unsqueeze(3).eq(0), padding);
  }
};

/// Random parameters for `block`, the same each time.
template <class Block>
Block filled(Block block) {
  block->to(at::kDouble);
  torch::NoGradGuard no_grad;
  torch::manual_seed(11);
  for (auto& p : block->parameters()) p.copy_(at::randn(p.sizes(), at::kDouble));
  return block;
}

/// Valid values and gradients of a block, `forward` of which is given leaves m and z and returns {name, y, dy}.
template <class Block, class Forward>
Results serial_results(Block block, const Inputs& in, Forward forward) {
  const at::Tensor m = in.m.clone().requires_grad_(true), z = in.z.clone().requires_grad_(true);
  const auto [y, dy, valid] = forward(block, m, z);
  y.backward(dy);
  Results r{{"y", at::where(valid, y.detach(), 0.)}, {"dm", m.grad()}};
  if (z.grad().defined()) r["dz"] = z.grad();
  for (const auto& p : block->named_parameters()) r[p.key()] = p.value().grad();
  return r;
}

template <class Make, class Forward>
Results port_results(Make make, const Inputs& in, Forward forward) {
  Results r;
  std::mutex mutex;
  comm::run_ranks(kMesh, [&](const MeshPtr& mesh) {
    auto block = make();
    {
      const std::lock_guard lock(mutex);  // one generator for all ranks
      block = filled(block);
    }
    const auto m = shard<Msa>(in.m, mesh);
    const auto z = shard<Pair>(in.z, mesh);
    m.local().requires_grad_(true);
    z.local().requires_grad_(true);
    const auto [y, dy, valid] = forward(block, m, z);
    y.local().backward(dy.local());
    reduce_gradients(block->parameters(), *mesh);
    Results mine{{"y", at::where(valid, parity::assemble(AnySharded(y.with(y.local().detach()))), 0.)},
                 {"dm", parity::assemble(AnySharded(m.with(m.local().grad())))}};
    if (z.local().grad().defined()) mine["dz"] = parity::assemble(AnySharded(z.with(z.local().grad())));
    for (const auto& p : block->named_parameters()) mine[p.key()] = p.value().grad();
    if (mesh->rank() == 0) r = mine;
  });
  return r;
}

void expect_same(const Results& clean, const Results& poisoned, const Results& serial) {
  ASSERT_EQ(clean.size(), serial.size());
  for (const auto& [name, value] : serial) {
    EXPECT_TRUE(poisoned.at(name).isfinite().all().item<bool>()) << name;
    EXPECT_TRUE(poisoned.at(name).equal(clean.at(name))) << name << " changed with the padding";
    EXPECT_TRUE(poisoned.at(name).allclose(value, 1e-11, 1e-11)) << name << " is not serial's";
  }
}

template <class L>
struct Output {
  Sharded<L> y, dy;
  at::Tensor valid;
};
struct FullOutput {
  at::Tensor y, dy, valid;
};

TEST(MsaPadding, OuterProductMean) {
  const auto make = [] { return OuterProductMean(kMsa, 3, 4); };
  const auto run = [&](double padding) {
    Inputs in(padding);
    in.m.masked_fill_(in.msa_mask.unsqueeze(3).eq(0), padding);
    const at::Tensor valid = in.pair_mask.unsqueeze(3).ne(0);
    return std::pair{
        port_results(
            make, in,
            [&](auto& block, const Sharded<Msa>& m, const Sharded<Pair>&) {
              return Output<Pair>{block(m, shard<Msa>(in.msa_mask, m.mesh())), shard<Pair>(in.dz, m.mesh()), valid};
            }),
        serial_results(filled(serial::OuterProductMean(kMsa, 3, 4)), in,
                       [&](auto& block, const at::Tensor& m, const at::Tensor&) {
                         return FullOutput{block(m, in.msa_mask), in.dz, valid};
                       })};
  };
  const auto clean = run(0), poisoned = run(1e30);
  expect_same(clean.first, poisoned.first, poisoned.second);
}

TEST(MsaPadding, PairWeightedAveraging) {
  const auto make = [] { return PairWeightedAveraging(kMsa, kPairs, 3, 2); };
  const auto run = [&](double padding) {
    Inputs in(padding);
    in.m.select(1, 1).fill_(padding);  // a masked row: it sees and moves itself alone
    in.dm.select(1, 1).zero_();
    const at::Tensor valid =
        in.tokens.unsqueeze(1).logical_and(in.msa_mask.ne(0).any(2, /*keepdim=*/true)).unsqueeze(3);
    return std::pair{
        port_results(
            make, in,
            [&](auto& block, const Sharded<Msa>& m, const Sharded<Pair>& z) {
              return Output<Msa>{block(m, z, shard<Pair>(in.pair_mask, m.mesh())), shard<Msa>(in.dm, m.mesh()), valid};
            }),
        serial_results(filled(serial::PairWeightedAveraging(kMsa, kPairs, 3, 2)), in,
                       [&](auto& block, const at::Tensor& m, const at::Tensor& z) {
                         return FullOutput{block(m, z, in.pair_mask), in.dm, valid};
                       })};
  };
  const auto clean = run(0), poisoned = run(1e30);
  expect_same(clean.first, poisoned.first, poisoned.second);
}

}  // namespace
}  // namespace cpize::trunk
