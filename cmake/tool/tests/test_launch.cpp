// Launching: how cells are grouped, what this machine lacks for them, and processes that end as one.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "child.hpp"
#include "collected.hpp"
#include "files.hpp"
#include "launch.hpp"

namespace cpize::tool {
namespace {

TEST(Launch, CellsOfOneWorldRunTogether) {
  const auto groups =
      launch_groups({"1x1x1/threads/fp64/cpu", "1x2x2/mpi/fp64/cpu", "1x1x2/nccl/fp64/cuda", "1x3x3/threads/fp64/cpu",
                     "1x2x2/mpi/fp64/cuda", "1x2x1/nccl/bf16/cuda", "1x1x1/nccl/fp32/cuda", "2x1x2/mpi/fp64/cpu"});
  ASSERT_EQ(groups.size(), 5u);
  EXPECT_EQ(groups[0].cells, (std::vector<std::string>{"1x1x1/threads/fp64/cpu", "1x3x3/threads/fp64/cpu"}));
  EXPECT_EQ(groups[1].cells, (std::vector<std::string>{"1x2x2/mpi/fp64/cpu", "2x1x2/mpi/fp64/cpu"}));
  EXPECT_EQ(groups[1].ranks, 4);
  EXPECT_EQ(groups[2].cells, (std::vector<std::string>{"1x1x2/nccl/fp64/cuda", "1x2x1/nccl/bf16/cuda"}));
  EXPECT_EQ(groups[2].ranks, 2);
  EXPECT_EQ(groups[3].device, "cuda");
  EXPECT_EQ(groups[4].ranks, 1);
}

TEST(Launch, WhatTheMachineLacks) {
  const Machine nothing{}, mpi{0, false, true}, cuda{0, true, true}, one{1, true, true}, two{2, true, false};
  EXPECT_EQ(nothing.lacks_for("1x3x3/threads/fp64/cpu"), "");
  EXPECT_EQ(nothing.lacks_for("1x2x2/mpi/fp64/cpu"), "no mpirun");
  EXPECT_EQ(mpi.lacks_for("1x2x2/mpi/fp64/cpu"), "");
  EXPECT_EQ(mpi.lacks_for("1x2x2/mpi/fp64/cuda"), "the build has no CUDA");
  EXPECT_EQ(cuda.lacks_for("1x1x1/nccl/fp64/cuda"), "no GPU");
  EXPECT_EQ(one.lacks_for("1x1x1/nccl/bf16/cuda"), "");
  EXPECT_EQ(one.lacks_for("1x1x2/nccl/bf16/cuda"), "2 GPUs needed, 1 here");
  EXPECT_EQ(one.lacks_for("1x2x2/mpi/fp64/cuda"), "") << "MPI ranks share a GPU";
  EXPECT_EQ(two.lacks_for("1x1x2/nccl/bf16/cuda"), "");
  EXPECT_EQ(two.lacks_for("1x2x2/mpi/fp64/cuda"), "no mpirun");

  ::setenv("CPIZE_RANKS_PER_GPU", "2", 1);
  EXPECT_EQ(one.lacks_for("1x1x2/nccl/bf16/cuda"), "");
  EXPECT_EQ(one.lacks_for("1x1x3/nccl/bf16/cuda"), "2 GPUs needed, 1 here");
  ::unsetenv("CPIZE_RANKS_PER_GPU");
}

TEST(Launch, AskedForIsWhatThePlanRunsOn) {
  Plan plan;
  plan.backend = "nccl", plan.world = 2;
  EXPECT_TRUE(asks_for(plan, "1x1x2/nccl/fp64/cuda"));
  EXPECT_TRUE(asks_for(plan, "1x1x1/nccl/bf16/cuda"));
  EXPECT_FALSE(asks_for(plan, "1x2x2/nccl/fp64/cuda"));
  EXPECT_FALSE(asks_for(plan, "1x1x2/mpi/fp64/cuda"));
  plan.backend = "threads", plan.world = 4;
  EXPECT_FALSE(asks_for(plan, "1x2x2/threads/fp64/cpu"));
}

class Children : public testing::Test {
 protected:
  Children() : folder_(fs::temp_directory_path() / ("cpize-children-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Children() override { fs::remove_all(folder_); }
  ChildSpec shell(const std::string& script) const {
    ChildSpec spec{{"/bin/sh", "-c", script}, folder_ / "log", folder_, {}, 20};
    spec.append_log = true;
    return spec;
  }
  double seconds(const std::vector<ChildSpec>& specs, ChildResult& r) const {
    const auto start = std::chrono::steady_clock::now();
    r = run_children(specs);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  fs::path folder_;
};

TEST_F(Children, AllOfThemRunAtOnce) {
  ChildResult r;
  // each waits for the other
  const auto meet = [&](int me, int you) {
    return shell("touch " + std::to_string(me) + "; while [ ! -e " + std::to_string(you) +
                 " ]; do sleep 0.01; done; echo " + std::to_string(me) + " ended");
  };
  EXPECT_LT(seconds({meet(0, 1), meet(1, 0)}, r), 10);
  EXPECT_TRUE(r.ok()) << r.text;
  const std::string log = *read_file(folder_ / "log");
  EXPECT_NE(log.find("0 ended"), std::string::npos);
  EXPECT_NE(log.find("1 ended"), std::string::npos);
}

TEST_F(Children, TheFirstFailureIsTheResult) {
  ChildResult r;
  seconds({shell("sleep 0.3; exit 4"), shell("exit 3"), shell("sleep 0.5; exit 5")}, r);
  EXPECT_EQ(r.exit, 3);
  EXPECT_EQ(r.text, "exited with 3");
  EXPECT_FALSE(r.timed_out);
}

TEST_F(Children, TimeIsUpForAllOfThem) {
  ChildResult r;
  ChildSpec sleeper = shell("sleep 60 & wait");
  sleeper.timeout = 1;
  EXPECT_LT(seconds({sleeper, sleeper}, r), 6);
  EXPECT_TRUE(r.timed_out);
  EXPECT_EQ(r.text, "ran past its limit of 1 s");
}

TEST_F(Children, WhatALauncherLeavesBehindIsEnded) {
  // deaf to SIGTERM, with a child in a session of its own
  ChildSpec launcher = shell("trap '' TERM; setsid sh -c 'echo $$ > left; sleep 60' & sleep 60; sleep 60");
  launcher.timeout = 1, launcher.stop_signal = SIGTERM;
  ChildResult r;
  EXPECT_LT(seconds({launcher}, r), 15);
  EXPECT_TRUE(r.timed_out);
  const int left = std::stoi(read_file(folder_ / "left").value_or("0"));
  ASSERT_GT(left, 0);
  EXPECT_NE(::kill(left, 0), 0) << "process " << left << " lives on";
}

TEST_F(Children, CollectedEvidenceCountsByTaskAndKey) {
  Evidence e{"tri_mul_out", std::string(32, 'a'), "0123abcd", {}, {}};
  e.cells["1x1x2/nccl/bf16/cuda"].judgement.ok = true;
  std::string line = summary_text(e, "hash");
  std::erase(line, '\n');
  std::ofstream(folder_ / "cells.0123abcd.jsonl") << line << "\nthis is no line\n{\"schema\":1}\n";
  std::ofstream(folder_ / "details.0123abcd.jsonl") << "{\"task\":\"tri_mul_out\"}\n";
  const CollectedEvidence collected(folder_);
  ASSERT_EQ(collected.load("tri_mul_out", e.key).size(), 1u);
  EXPECT_TRUE(collected.load("tri_mul_out", e.key)[0].cells.at("1x1x2/nccl/bf16/cuda").judgement.ok);
  EXPECT_TRUE(collected.load("tri_mul_out", std::string(32, 'b')).empty());
  EXPECT_TRUE(collected.load("tri_mul_in", e.key).empty());
  EXPECT_EQ(collected.cells_of_other_keys("tri_mul_out", std::string(32, 'b')),
            std::set<std::string>{"1x1x2/nccl/bf16/cuda"});
  EXPECT_TRUE(CollectedEvidence(folder_ / "nowhere").load("tri_mul_out", e.key).empty());
}

}  // namespace
}  // namespace cpize::tool
