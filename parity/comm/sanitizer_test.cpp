// The collective sanitizer: every planted mistake becomes an error on every rank that waits, never a hang.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <random>

#include "comm/agree.hpp"
#include "comm/call_site.hpp"
#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/redistribute.hpp"

namespace cpize {
namespace {

using comm::CallSite;

void all_reduce(const MeshPtr& mesh, std::int64_t n, at::ScalarType dtype, const char* site) {
  CallSite named(site);
  std::vector<at::Tensor> tensors{at::ones({n}, dtype)};
  mesh->backend().allreduce(tensors)->wait();
}

void all_to_all(const MeshPtr& mesh, std::int64_t to_each, const char* site) {
  CallSite named(site);
  std::vector<std::int64_t> splits(mesh->size(), to_each);
  auto receive = splits;
  at::Tensor in = at::ones({to_each * mesh->size()}), out = at::empty_like(in);
  mesh->backend().alltoall_base(out, in, receive, splits)->wait();
}

/// A few good collectives, then one in which `odd` makes mistake number `mistake`.
void run_with_mistake(const MeshPtr& mesh, int odd, int mistake, int before) {
  for (int i = 0; i < before; ++i) i % 2 ? all_reduce(mesh, 4, at::kDouble, "warm-up") : all_to_all(mesh, 2, "warm-up");
  const bool me = mesh->rank() == odd;
  switch (mistake) {
    case 0:  // another kind of collective
      me ? all_reduce(mesh, 4, at::kDouble, "step") : all_to_all(mesh, 2, "step");
      break;
    case 1:  // another dtype
      all_reduce(mesh, 4, me ? at::kFloat : at::kDouble, "step");
      break;
    case 2:  // another shape
      all_reduce(mesh, me ? 5 : 4, at::kDouble, "step");
      break;
    case 3:  // another amount
      all_to_all(mesh, me ? 3 : 2, "step");
      break;
    case 4:  // forgets one
      if (!me) all_reduce(mesh, 4, at::kDouble, "step");
      break;
    case 5:  // does one more
      all_reduce(mesh, 4, at::kDouble, "step");
      if (me) all_reduce(mesh, 4, at::kDouble, "extra");
      break;
    case 6:  // same shape, another place in the program
      all_reduce(mesh, 4, at::kDouble, me ? "loss" : "step");
      break;
    default:  // fails before it
      if (me) throw std::runtime_error("planted failure");
      all_reduce(mesh, 4, at::kDouble, "step");
  }
}

TEST(Sanitizer, AThousandRandomMismatchesAreAThousandErrors) {
  std::mt19937 random(2024);
  const std::vector<MeshShape> meshes{{1, 1, 2}, {1, 2, 2}, {1, 2, 3}, {2, 1, 2}};
  int caught = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const MeshShape shape = meshes[random() % meshes.size()];
    const int odd = static_cast<int>(random() % shape.size()), mistake = static_cast<int>(random() % 8);
    const int before = static_cast<int>(random() % 4);
    const auto failures =
        comm::run_ranks_collect(shape, [&](const MeshPtr& mesh) { run_with_mistake(mesh, odd, mistake, before); });
    int failed = 0;
    for (int rank = 0; rank < shape.size(); ++rank) {
      if (!failures[rank]) continue;
      ++failed;
      try {
        std::rethrow_exception(failures[rank]);
      } catch (const PeerError& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("rank " + std::to_string(odd)), std::string::npos) << "mistake " << mistake << ": " << text;
        EXPECT_NE(text.find(" at "), std::string::npos) << text;
      } catch (const std::runtime_error& e) {
        EXPECT_EQ(rank, odd) << e.what();
      }
    }
    // Whoever needed the odd rank fails: all of them; a forgotten call fails the others, an extra one the odd rank
    // itself.
    const int expected = mistake == 4 ? shape.size() - 1 : mistake == 5 ? 1 : shape.size();
    EXPECT_EQ(failed, expected) << "mistake " << mistake << " on " << shape.str();
    caught += failed >= 1;
  }
  EXPECT_EQ(caught, 1000);
}

TEST(Sanitizer, ARankThatThrowsAtARandomPointOfABackwardStopsTheOthers) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const MeshShape shape{1, 2, 2};
    const int odd = static_cast<int>(random() % 4), point = static_cast<int>(random() % 6);
    const auto failures = comm::run_ranks_collect(shape, [&](const MeshPtr& mesh) {
      int at = 0;
      auto step = [&] {
        if (mesh->rank() == odd && at++ == point) throw std::runtime_error("planted failure");
      };
      at::Tensor x = at::ones({1, 3, 3, 4}, at::kDouble).requires_grad_(true);
      step();
      auto z = redistribute<PairByChannel>(wrap<Pair>(x, {1, 6, 6, 4}, mesh));
      step();
      auto y = redistribute<Pair>(z.with(z.local() * 2));
      step();
      y.local().register_hook([&](const at::Tensor& g) {
        step();
        return g;
      });
      z.local().register_hook([&](const at::Tensor& g) {
        step();
        return g;
      });
      y.local().square().sum().backward();
      step();
      comm::agree_no_error(*mesh, "");
    });
    for (int rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(failures[rank]) << "rank " << rank << " did not notice, point " << point;
      try {
        std::rethrow_exception(failures[rank]);
      } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("planted failure"), std::string::npos) << e.what();
      }
    }
  }
}

TEST(Sanitizer, ARankThatNeverComesIsNamedAfterTheTimeout) {
  const auto failures = comm::run_ranks_collect({1, 1, 2},
                                                [](const MeshPtr& mesh) {
                                                  if (mesh->rank() == 1)
                                                    std::this_thread::sleep_for(std::chrono::milliseconds(600));
                                                  all_reduce(mesh, 1, at::kDouble, "late");
                                                },
                                                {.timeout = std::chrono::milliseconds(150)});
  for (const auto& failure : failures) {
    ASSERT_TRUE(failure);
    try {
      std::rethrow_exception(failure);
    } catch (const PeerError& e) {
      EXPECT_NE(std::string(e.what()).find("for rank 1"), std::string::npos) << e.what();
    }
  }
}

TEST(RunRanks, RethrowsTheFirstCauseAndNotItsEcho) {
  try {
    comm::run_ranks({1, 2, 2}, [](const MeshPtr& mesh) {
      if (mesh->rank() == 3) throw InputError("x.cif:7", "broken");
      comm::agree_no_error(*mesh, "");
    });
    FAIL() << "nothing was thrown";
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(), "x.cif:7: broken");
  }
}

TEST(RunRanks, CarriesTheCallersGradMode) {
  at::NoGradGuard no_grad;
  comm::run_ranks({1, 1, 2}, [](const MeshPtr&) {
    if (at::GradMode::is_enabled()) throw std::runtime_error("grad mode was not carried over");
  });
}

TEST(Agree, OneRanksErrorEndsAllRanksWithItsCause) {
  const auto failures = comm::run_ranks_collect({1, 2, 2}, [](const MeshPtr& mesh) {
    comm::agree_after(*mesh, [&] {
      if (mesh->rank() == 2) throw ResourceError("no memory for 3 GiB");
    });
  });
  for (int rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(failures[rank]);
    try {
      std::rethrow_exception(failures[rank]);
    } catch (const ResourceError&) {
      EXPECT_EQ(rank, 2);
    } catch (const PeerError& e) {
      EXPECT_STREQ(e.what(), "rank 2 failed: no memory for 3 GiB");
    }
  }
}

TEST(Agree, DifferingValuesAreNamed) {
  EXPECT_THROW(
      comm::run_ranks({1, 1, 2}, [](const MeshPtr& mesh) { comm::agree_equal(*mesh, "steps", 5 + mesh->rank()); }),
      ContractError);
  comm::run_ranks({1, 1, 2}, [](const MeshPtr& mesh) { comm::agree_equal(*mesh, "steps", 5); });
}

TEST(MemoryMeter, CountsExactlyWhatARankHolds) {
  comm::run_ranks({1, 2, 2}, [](const MeshPtr& mesh) {
    comm::MemoryMeter meter;
    comm::MemoryMeter::Scope metered(meter);
    const std::int64_t n = 100'000;
    {
      at::Tensor a = at::ones({n}, at::kDouble);
      at::Tensor b = a + a;
      if (meter.current_bytes() < 16 * n || meter.current_bytes() > 16 * n + 1024) throw std::runtime_error("current");
    }
    if (meter.current_bytes() != 0) throw std::runtime_error("not all freed: " + std::to_string(meter.current_bytes()));
    if (meter.peak_bytes() < 16 * n || meter.peak_bytes() > 16 * n + 1024) throw std::runtime_error("peak");
    meter.reset();
    {
      std::vector<at::Tensor> tensors{at::ones({n}, at::kDouble)};
      mesh->backend().allreduce(tensors)->wait();  // what the meeting allocates belongs to no rank
    }
    if (meter.current_bytes() != 0 || meter.peak_bytes() > 8 * n + 1024)
      throw std::runtime_error("a collective leaked");
  });
}

}  // namespace
}  // namespace cpize
