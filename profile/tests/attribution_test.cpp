// Memory attribution: known allocations give known bytes by scope and phase; backward finds its scopes again.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <thread>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "map/scope.hpp"
#include "parity/trunk/triangle_case.hpp"
#include "profile/memory_attribution.hpp"
#include "profile/memory_profile.hpp"
#include "profile/operation_tally.hpp"
#include "trunk/tri_mul_out.hpp"

namespace cpize::profile {
namespace {

at::Tensor doubles(std::int64_t n) { return at::empty({n}, at::TensorOptions(at::kDouble)); }

TEST(MemoryAttribution, BooksLiveBytesAtThePeakByScope) {
  const at::Tensor before = doubles(1000);  // not counted
  const ScopeTracker tracker;
  const MemoryAttribution memory(tracker);
  const MemoryAttribution::Scope attached(memory);
  at::Tensor kept, outside = doubles(10);
  {
    const map::Scope outer("outer");
    kept = doubles(100);
    {
      const map::Scope inner("inner");
      const at::Tensor most = doubles(200), more = doubles(50);  // the peak: 10 + 100 + 200 + 50
    }
    const at::Tensor later = doubles(120);
  }
  EXPECT_EQ(memory.peak_bytes(), 8 * 360);
  const BytesByPlace expected{
      {{"", Phase::forward}, 80}, {{"outer", Phase::forward}, 800}, {{"outer/inner", Phase::forward}, 2000}};
  EXPECT_EQ(memory.at_peak(), expected);
  const BytesByPlace still{{{"", Phase::forward}, 80}, {{"outer", Phase::forward}, 800}};
  EXPECT_EQ(memory.now(), still);
  EXPECT_EQ(memory.totals().at({"outer", Phase::forward}).allocated, 8 * 220);
  EXPECT_EQ(memory.totals().at({"outer/inner", Phase::forward}).largest, 1600);
  EXPECT_EQ(memory.own_peak().at("outer"), 8 * 220);
}

/// y = 2 x, whose backward allocates 300 doubles; with `again`, inside a scope of its own.
struct Doubling : torch::autograd::Function<Doubling> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, bool again) {
    context->saved_data["again"] = again;
    return 2 * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    if (context->saved_data["again"].toBool()) {
      const map::Scope scope("recomputed");
      const at::Tensor scratch = doubles(300);
    } else {
      const at::Tensor scratch = doubles(300);
    }
    return {2 * gradients[0], {}};
  }
};

TEST(MemoryAttribution, BackwardBelongsToTheScopeThatMadeTheNode) {
  const at::Tensor x = at::ones({7}, at::TensorOptions(at::kDouble)).requires_grad_(true);
  const ScopeTracker tracker;
  const MemoryAttribution memory(tracker);
  const MemoryAttribution::Scope attached(memory);
  at::Tensor y, z;
  {
    const map::Scope scope("first");
    y = Doubling::apply(x, false);
  }
  {
    const map::Scope scope("second");
    z = Doubling::apply(y, true).exp();
  }
  torch::autograd::backward({z}, {at::ones_like(z)});
  const auto totals = memory.totals();
  EXPECT_EQ(totals.at({"first", Phase::backward}).largest, 2400);
  EXPECT_EQ(totals.at({"recomputed", Phase::recompute}).allocated, 2400);
  // `second` made gradients of 7 numbers only; nothing in backward is without a scope but the seed made above.
  EXPECT_EQ(totals.at({"second", Phase::backward}).largest, 56);
  EXPECT_FALSE(totals.contains({"", Phase::backward}));
}

TEST(OperationTally, CountsProductsAndUpCasts) {
  const at::Tensor x = at::ones({3, 5}, at::TensorOptions(at::kFloat)).requires_grad_(true);
  const at::Tensor w = at::ones({5, 11}, at::TensorOptions(at::kFloat)).requires_grad_(true);
  const ScopeTracker tracker;
  MemoryAttribution memory(tracker);
  const MemoryAttribution::Scope attached(memory);
  const OperationTally tally(tracker, &memory, at::kFloat);
  at::Tensor y;
  {
    const map::Scope scope("product");
    y = x.matmul(w);
  }
  {
    const map::Scope scope("cast");
    y = y.to(at::kDouble);
  }
  torch::autograd::backward({y}, {at::ones({3, 11}, at::TensorOptions(at::kDouble))});
  EXPECT_EQ(tally.flops().at({"product", Phase::forward}), 2 * 3 * 5 * 11);
  EXPECT_EQ(tally.flops().at({"product", Phase::backward}), 2 * 2 * 3 * 5 * 11);
  EXPECT_EQ(memory.totals().at({"cast", Phase::forward}).wide, 3 * 11 * 8);
  EXPECT_EQ(memory.totals().at({"product", Phase::forward}).wide, 0);
}

/// Two triangle multiplications, each in its scope: a model that takes a moment.
ProfiledModel two_multiplications() {
  const auto scoped = [](const char* name, const auto& step) {
    const map::Scope scope(name);
    return step();
  };
  parity::BlockCase block = parity::triangle_case<trunk::TriMulOut>("two", serial::TriangleDirection::outgoing);
  block.port([](const parity::Sizes& s) { return trunk::TriMulOut(s["C"]); },
             [scoped](auto& multiply, const parity::ShardedTensors& in) {
               const auto z = in.get<Pair>("z"), mask = in.get<Pair>("mask");
               const auto y = scoped("first", [&] { return multiply(z, mask); });
               return parity::ShardedTensors{{"y", scoped("second", [&] { return multiply(y, mask); })}};
             });
  const auto budgets = [](const parity::CostPoint& p, const auto& parameters) {
    const double b = pair_shard_bytes(p);
    return std::vector<ScopeBudget>{{"first", 6 * b, 5 * b, 8 * b + 2 * parameters("first"), "test"},
                                    {"second", 6 * b, 5 * b, 8 * b + 2 * parameters("second"), "test"}};
  };
  const auto whole = [](const parity::CostPoint& p, double parameter_bytes) {
    return ScopeBudget{"step", 0, 0, 15 * pair_shard_bytes(p) + 2 * parameter_bytes, "test"};
  };
  return {"a test", block, {"first", "second"}, budgets, whole, [](const auto&, const auto&) { return true; }};
}

CaseProblem problem_of(const ProfiledModel& model, const MeshShape& mesh, std::int64_t tokens, std::int64_t channels,
                       at::ScalarType dtype = at::kDouble) {
  parity::Setting setting(mesh);
  setting.dtype = dtype;
  return make_case_problem(model.block, {{"N", tokens}, {"C", channels}}, setting);
}

TEST(MemoryProfile, AgreesWithTheMeterAndIsAttributed) {
  const ProfiledModel model = two_multiplications();
  const MeshShape mesh(1, 2, 2);
  const CaseProblem problem = problem_of(model, mesh, 33, 16);
  std::vector<std::int64_t> metered(mesh.size());
  comm::run_ranks(mesh, [&](const MeshPtr& m) {
    PortCaseRun run(problem, m);
    comm::MemoryMeter meter;
    const comm::MemoryMeter::Scope attached(meter);
    meter.reset();
    run.step();
    metered[m->rank()] = meter.peak_bytes();
  });
  const MemoryProfile profile = profile_port_memory(model, problem);
  EXPECT_EQ(profile.peak, *std::max_element(metered.begin(), metered.end()));
  EXPECT_GT(profile.attributed_share(), 0.9);
  for (const char* scope : {"first", "second"}) EXPECT_TRUE(profile.totals.contains({scope, Phase::backward})) << scope;
}

TEST(MemoryProfile, UnderAutocastActivationsAreNarrow) {
  const ProfiledModel model = two_multiplications();
  const MeshShape mesh(1, 1, 2);
  const MemoryProfile narrow = profile_port_memory(model, problem_of(model, mesh, 96, 64, at::kBFloat16));
  const MemoryProfile wide = profile_port_memory(model, problem_of(model, mesh, 96, 64, at::kFloat));
  EXPECT_EQ(narrow.parameter_bytes, wide.parameter_bytes);
  EXPECT_LT(static_cast<double>(narrow.peak), 0.65 * static_cast<double>(wide.peak));
  EXPECT_LT(static_cast<double>(narrow.peak), narrow.whole->step);
}

TEST(MemoryProfile, ABudgetThatIsExceededIsNamed) {
  const ProfiledModel model = two_multiplications();
  MemoryProfile profile = profile_port_memory(model, problem_of(model, MeshShape(1, 1, 2), 24, 16));
  for (auto& budget : profile.budgets)
    if (budget.scope == "second") budget.saved = static_cast<double>(profile.saved_of("second")) - 1;
  EXPECT_NE(profile.over_budget().find("second"), std::string::npos) << profile.over_budget();
}

}  // namespace
}  // namespace cpize::profile
