// On a GPU: the allocator's history finds scopes, forward and backward; the snapshot holds them; kernels find the scope
// that launched them and none is lost.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <fstream>
#include <iterator>

#include "map/scope.hpp"
#include "profile/device_memory.hpp"
#include "profile/device_times.hpp"
#include "profile/kineto.hpp"

namespace cpize::profile {
namespace {

constexpr std::int64_t kSide = 1024, kMatrix = kSide * kSide * 4;
const c10::Device kGpu(at::kCUDA, 0);

/// Two products in scopes, forward and backward; inputs are made before.
class Products {
 public:
  Products() : a_(matrix()), b_(matrix()), c_(matrix()), seed_(matrix().detach()) {}

  void step(const AfterForward& after_forward) const {
    at::Tensor y;
    {
      const map::Scope outer("layer");
      const map::Scope scope("first");
      y = a_.mm(b_);
    }
    {
      const map::Scope scope("second");
      y = y.mm(c_);
    }
    if (after_forward) after_forward();
    torch::autograd::backward({y}, {seed_});
    for (const auto* t : {&a_, &b_, &c_}) t->mutable_grad() = at::Tensor();
  }

 private:
  static at::Tensor matrix() { return at::randn({kSide, kSide}, at::TensorOptions(kGpu)).requires_grad_(true); }
  at::Tensor a_, b_, c_, seed_;
};

TEST(DeviceMemory, TheHistoryFindsScopes) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Products products;
  products.step({});  // workspaces of cuBLAS
  const std::string file = ::testing::TempDir() + "cpize_snapshot_test.pickle";
  const DeviceMemory memory = measure_device_memory([&](const auto& f) { products.step(f); }, kGpu, file);
  EXPECT_EQ(memory.peak, memory.allocator_peak);
  EXPECT_EQ(memory.saved,
            (BytesByPlace{{{"layer/first", Phase::forward}, kMatrix}, {{"second", Phase::forward}, kMatrix}}));
  EXPECT_GE(memory.totals.at({"second", Phase::backward}).allocated, 2 * kMatrix);
  EXPECT_GE(memory.totals.at({"layer/first", Phase::backward}).allocated, 2 * kMatrix);
  EXPECT_DOUBLE_EQ(memory.attributed_share(), 1);
  EXPECT_GE(memory.reserved, memory.peak);
  std::ifstream in(file, std::ios::binary);
  const std::string pickle(std::istreambuf_iterator<char>(in), {});
  for (const char* part : {"device_traces", "segments", "free_completed", "layer", "first", "second", "backward"})
    EXPECT_NE(pickle.find(part), std::string::npos) << part;
}

TEST(DeviceTimes, KernelsOfAGpuFindTheirScopes) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Products products;
  products.step({});
  NodeScopes nodes;
  const auto result = under_kineto(true, [&] {
    products.step({});
    at::zeros({1}, at::TensorOptions(kGpu)).item<float>();  // waits
    const ScopeTracker tracker(ScopeTracker::Reach::process);
    {
      RECORD_USER_SCOPE(kStepRange);
      products.step({});
      at::zeros({1}, at::TensorOptions(kGpu)).item<float>();
    }
    nodes = tracker.nodes();
  });
  const std::string file = ::testing::TempDir() + "cpize_gpu_trace_test.json";
  result->save(file);
  const DeviceTimes times = device_times(read_chrome_trace(file), nodes);
  EXPECT_EQ(times.without_launch, 0);
  EXPECT_GT(times.attributed_share(), 0.9);
  for (const Place& place : {Place{"layer/first", Phase::forward}, Place{"second", Phase::forward},
                             Place{"second", Phase::backward}, Place{"layer/first", Phase::backward}}) {
    ASSERT_TRUE(times.places.contains(place)) << place.path << " " << name_of(place.phase);
    EXPECT_GT(times.places.at(place).own[static_cast<int>(Work::compute)], 0);
  }
  EXPECT_EQ(times.communication, 0);
  EXPECT_NEAR(times.compute + times.idle, times.wall, 1e-9);
}

}  // namespace
}  // namespace cpize::profile
