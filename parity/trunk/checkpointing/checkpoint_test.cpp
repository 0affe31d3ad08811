// Checkpointing on its own: when the function is called, what it may read, which bits come out.
#include "trunk/checkpointing/checkpoint.hpp"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/redistribute.hpp"
#include "parity/harness/bits.hpp"

namespace cpize::trunk {
namespace {

using parity::same_bits;

at::Tensor leaf(at::IntArrayRef shape, double scale = 1) {
  return (at::linspace(-1, 1, c10::multiply_integers(shape), at::kDouble).reshape(shape) * scale).requires_grad_(true);
}

struct Case {
  at::Tensor x = leaf({4, 3}), w = leaf({3, 3}, 2);
  int calls = 0;

  LocalFunction function() {
    return [this](const std::vector<at::Tensor>& in) {
      ++calls;
      const at::Tensor h = in[0].matmul(w).tanh();
      return std::vector<at::Tensor>{h.matmul(w).sin(), h.sum(0)};
    };
  }
};

TEST(Checkpoint, GivesTheBitsOfADirectRun) {
  Case direct, again;
  const auto y = direct.function()({direct.x});
  const auto z = checkpoint_local(again.function(), {again.x}, {again.w});
  EXPECT_EQ(again.calls, 1);
  torch::autograd::backward({y[0], y[1]}, {at::ones_like(y[0]), at::ones_like(y[1])});
  torch::autograd::backward({z[0], z[1]}, {at::ones_like(z[0]), at::ones_like(z[1])});
  EXPECT_EQ(again.calls, 2);
  EXPECT_TRUE(same_bits(y[0], z[0]));
  EXPECT_TRUE(same_bits(direct.x.grad(), again.x.grad()));
  EXPECT_TRUE(same_bits(direct.w.grad(), again.w.grad()));
}

TEST(Checkpoint, AnOutputWithoutGradientIsLeftOut) {
  Case direct, again;
  direct.function()({direct.x})[1].backward(at::ones({3}, at::kDouble));
  checkpoint_local(again.function(), {again.x}, {again.w})[1].backward(at::ones({3}, at::kDouble));
  EXPECT_TRUE(same_bits(direct.w.grad(), again.w.grad()));
}

TEST(Checkpoint, ParametersLearnThoughNoInputDoes) {
  Case c;
  checkpoint_local(c.function(), {c.x.detach()}, {c.w})[0].backward(at::ones({4, 3}, at::kDouble));
  EXPECT_TRUE(c.w.grad().defined());
}

TEST(Checkpoint, FrozenParametersAndMasksPassThrough) {
  Case c;
  c.w.requires_grad_(false);
  const at::Tensor mask = at::ones({4, 3}, at::kLong);
  const auto y = checkpoint_local(
      [&](const std::vector<at::Tensor>& in) { return std::vector<at::Tensor>{in[0].matmul(c.w) * in[1]}; },
      {c.x, mask}, {c.w});
  y[0].backward(at::ones({4, 3}, at::kDouble));
  EXPECT_TRUE(c.x.grad().defined());
  EXPECT_FALSE(c.w.grad().defined());
}

TEST(Checkpoint, WithoutGradientsTheFunctionIsCalledOnce) {
  Case c;
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(checkpoint_local(c.function(), {c.x}, {c.w})[0].requires_grad());
  EXPECT_EQ(c.calls, 1);
}

TEST(Checkpoint, AGraphThatIsKeptGivesItsGradientsTwice) {
  Case c;
  const auto y = checkpoint_local(c.function(), {c.x}, {c.w});
  const auto one = torch::autograd::grad({y[0]}, {c.x, c.w}, {at::ones_like(y[0])}, /*retain_graph=*/true);
  const auto two = torch::autograd::grad({y[0]}, {c.x, c.w}, {at::ones_like(y[0])});
  EXPECT_TRUE(same_bits(one[0], two[0]));
  EXPECT_TRUE(same_bits(one[1], two[1]));
  EXPECT_FALSE(c.w.grad().defined()) << "grad() must not accumulate";
}

TEST(Checkpoint, Nests) {
  Case direct, again;
  const auto twice = [](Case& c, bool nested) -> LocalFunction {
    return [&c, nested](const std::vector<at::Tensor>& in) {
      const at::Tensor h = in[0].square();
      return nested ? checkpoint_local(c.function(), {h}, {c.w}) : c.function()({h});
    };
  };
  const auto y = twice(direct, false)({direct.x});
  const auto z = checkpoint_local(twice(again, true), {again.x}, {again.w});
  y[0].backward(at::ones_like(y[0]));
  z[0].backward(at::ones_like(z[0]));
  EXPECT_EQ(again.calls, 3);
  EXPECT_TRUE(same_bits(direct.x.grad(), again.x.grad()));
  EXPECT_TRUE(same_bits(direct.w.grad(), again.w.grad()));
}

TEST(Checkpoint, TheSecondRunSeesTheAutocastOfTheFirst) {
  at::Tensor gradients[2];
  for (const bool checkpointed : {false, true}) {
    const at::Tensor x = leaf({4, 8}).to(at::kFloat).detach().requires_grad_(true);
    const at::Tensor w = leaf({8, 8}).to(at::kFloat).detach().requires_grad_(true);
    const LocalFunction f = [&](const std::vector<at::Tensor>& in) {
      return std::vector<at::Tensor>{at::linear(at::linear(in[0], w).tanh(), w)};
    };
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_cache_enabled(false);
    const at::Tensor y = checkpointed ? checkpoint_local(f, {x}, {w})[0] : f({x})[0];
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::set_autocast_cache_enabled(true);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    y.backward(at::ones_like(y));
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    gradients[checkpointed] = w.grad();
  }
  EXPECT_TRUE(same_bits(gradients[0], gradients[1]));
}

TEST(Checkpoint, AForgottenParameterIsAnError) {
  Case c;
  const auto y = checkpoint_local(c.function(), {c.x}, {});
  EXPECT_THROW(y[0].backward(at::ones_like(y[0])), ContractError);
}

TEST(Checkpoint, ACapturedActivationIsAnError) {
  Case c;
  const at::Tensor other = c.x * 2;
  const auto y = checkpoint_local(
      [&](const std::vector<at::Tensor>& in) { return std::vector<at::Tensor>{in[0] * other}; }, {c.x}, {c.w});
  EXPECT_THROW(y[0].backward(at::ones_like(y[0])), ContractError);
}

TEST(Checkpoint, AnInputThatIsWrittenToIsAnError) {
  Case c;
  const at::Tensor x = c.x * 1;
  const LocalFunction writes = [&](const std::vector<at::Tensor>& in) {
    if (!at::GradMode::is_enabled()) at::Tensor(in[0]).mul_(2);
    return std::vector<at::Tensor>{in[0].matmul(c.w)};
  };
  EXPECT_THROW(checkpoint_local(writes, {x}, {c.w}), ContractError);
}

TEST(Checkpoint, HasNoSecondDerivative) {
  Case c;
  const auto y = checkpoint_local(c.function(), {c.x}, {c.w});
  EXPECT_THROW(torch::autograd::grad({y[0]}, {c.x}, {at::ones_like(y[0])}, true, /*create_graph=*/true),
               NotImplemented);
}

struct Scale : torch::nn::Module {
  at::Tensor factor = register_parameter("factor", at::full({}, 3.0, at::kDouble));
};

/// Sharded values in and out, a tuple of them, with an exchange inside that is repeated in backward.
TEST(Checkpoint, RunsExchangesAgainOnEveryRank) {
  for (const MeshShape& shape : {MeshShape(1, 2, 2), MeshShape(2, 1, 2)})
    comm::run_ranks(shape, [](const MeshPtr& mesh) {
      at::Tensor gradients[2], factor[2];
      for (const bool checkpointed : {false, true}) {
        const auto scale = std::make_shared<Scale>();
        const auto s = shard<Single>(at::arange(30, at::kDouble).reshape({2, 5, 3}) / 7, mesh);
        at::Tensor(s.local()).requires_grad_(true);
        const auto f = [scale](const Sharded<Single>& x) {
          const auto rows = redistribute<SingleRow>(x.with((x.local() * scale->factor).sin()));
          return std::tuple{redistribute<Single>(rows.with(rows.local().square())), rows};
        };
        const auto [a, b] = checkpointed ? checkpoint(*scale, f, s) : f(s);
        torch::autograd::backward({a.local(), b.local()},
                                  {at::full_like(a.local(), mesh->rank() + 1.0), at::ones_like(b.local())});
        gradients[checkpointed] = s.local().grad();
        factor[checkpointed] = scale->factor.grad();
      }
      if (!same_bits(gradients[0], gradients[1]) || !same_bits(factor[0], factor[1]))
        throw std::runtime_error("the second run gave other gradients");
    });
}

}  // namespace
}  // namespace cpize::trunk
