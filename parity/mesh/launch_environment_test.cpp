// Which rank of how many: every launcher, and every way in which two of them contradict each other.
#include "mesh/launch_environment.hpp"

#include <gtest/gtest.h>

#include "error/error.hpp"

namespace cpize {
namespace {

const LaunchPurpose world_2x2{"cpize-world --mesh 2x2", MeshShape(1, 2, 2)};

struct Launcher {
  std::string name, rank, world, local_rank, local_world, line;
};

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> all{
      {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "torchrun --no-python --nproc-per-node "},
      {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "srun -n "},
      {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE", "mpirun -n "}};
  return all;
}

EnvironmentMap said(const Launcher& by, int rank, int world) {
  return {{by.rank, std::to_string(rank)}, {by.world, std::to_string(world)}};
}

EnvironmentMap both(EnvironmentMap a, const EnvironmentMap& b) {
  a.insert(b.begin(), b.end());
  return a;
}

/// Throws ConfigError with all `parts` in it.
void expect_error(const EnvironmentMap& environment, const LaunchFlags& flags, const LaunchPurpose& purpose,
                  const std::vector<std::string>& parts) {
  try {
    const auto launch = read_launch_environment(environment, flags, purpose);
    ADD_FAILURE() << "no error: rank " << launch.rank << " of " << launch.world << " by " << launch.source;
  } catch (const ConfigError& e) {
    for (const auto& part : parts)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << "'" << part << "' is not in: " << e.what();
  }
}

TEST(LaunchEnvironment, NobodyMeansOneProcess) {
  const auto launch = read_launch_environment({});
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.world, 1);
  EXPECT_EQ(launch.local_rank, 0);
  EXPECT_EQ(launch.local_world, 1);
  EXPECT_EQ(launch.source, "none");
  expect_error({}, {}, world_2x2, {"needs 4 ranks", "1 process was started", "mpirun -n 4 cpize-world --mesh 2x2"});
}

TEST(LaunchEnvironment, EachLauncherAlone) {
  for (const auto& by : launchers()) {
    for (int rank = 0; rank < 4; ++rank) {
      EnvironmentMap environment = said(by, rank, 4);
      auto launch = read_launch_environment(environment, {}, world_2x2);
      EXPECT_EQ(launch.rank, rank);
      EXPECT_EQ(launch.world, 4);
      EXPECT_EQ(launch.local_rank, rank);  // one machine unless the launcher says otherwise
      EXPECT_EQ(launch.local_world, 4);
      EXPECT_EQ(launch.source, by.name);
      EXPECT_EQ(launch.line, by.line + "4 cpize-world --mesh 2x2");
      environment[by.local_rank] = std::to_string(rank % 2);
      environment[by.local_world] = "2";
      launch = read_launch_environment(environment, {}, world_2x2);
      EXPECT_EQ(launch.local_rank, rank % 2);
      EXPECT_EQ(launch.local_world, 2);
    }
  }
}

TEST(LaunchEnvironment, FlagsAlone) {
  LaunchFlags flags;
  flags.rank = 2;
  flags.world = 4;
  const auto launch = read_launch_environment({}, flags, world_2x2);
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.world, 4);
  EXPECT_EQ(launch.source, "flags");
  flags.rank.reset();
  expect_error({}, flags, world_2x2, {"4 ranks (--world 4)", "nothing says which one"});
  flags.rank = 1;
  flags.world.reset();
  expect_error({}, flags, {}, {"rank is 1 (--rank 1)", "nothing says of how many"});
}

TEST(LaunchEnvironment, TheMeshAgainstTheWorld) {
  for (const auto& by : launchers())
    for (const int world : {1, 2, 3, 5, 8})
      expect_error(said(by, 0, world), {}, world_2x2,
                   {"mesh 1x2x2 needs 4 ranks", std::to_string(world) + " were started", by.line + "4 "});
}

TEST(LaunchEnvironment, TheRankOutsideTheWorld) {
  for (const auto& by : launchers())
    for (const int rank : {4, 5, 100})
      expect_error(said(by, rank, 4), {}, world_2x2,
                   {"rank " + std::to_string(rank) + " (" + by.rank + "=" + std::to_string(rank) + ")",
                    "world of 4 (" + by.world + "=4)", "0 to 3", by.line + "4 "});
}

TEST(LaunchEnvironment, FlagsAgainstEachLauncher) {
  for (const auto& by : launchers()) {
    LaunchFlags flags;
    flags.world = 4;
    expect_error(said(by, 0, 3), flags, world_2x2, {"4 (--world 4) against 3 (" + by.world + "=3)", by.line + "4 "});
    flags.rank = 1;
    expect_error(said(by, 0, 4), flags, world_2x2, {"rank: 1 (--rank 1) against 0 (" + by.rank + "=0)"});
    flags.rank = 0;
    EXPECT_EQ(read_launch_environment(said(by, 0, 4), flags, world_2x2).source, "flags");
    flags.rank.reset();  // half of it by flags, the rest by the launcher
    EXPECT_EQ(read_launch_environment(said(by, 3, 4), flags, world_2x2).rank, 3);
    flags.local_rank = 1;
    EnvironmentMap environment = said(by, 0, 4);
    environment[by.local_rank] = "0";
    expect_error(environment, flags, world_2x2, {"local rank: 1 (--local-rank 1) against 0 (" + by.local_rank + "=0)"});
  }
}

TEST(LaunchEnvironment, EveryTwoLaunchers) {
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a + 1; b < 3; ++b) {
      const Launcher &first = launchers()[a], &second = launchers()[b];
      EXPECT_EQ(read_launch_environment(both(said(first, 1, 4), said(second, 1, 4))).source, first.name);
      const auto other_world = both(said(first, 1, 4), said(second, 1, 2));
      expect_error(other_world, {}, {},
                   {"4 (" + first.world + "=4) against 2 (" + second.world + "=2)", first.line + "4 ",
                    "CPIZE_LAUNCHER=" + second.name});
      expect_error(both(said(first, 1, 4), said(second, 2, 4)), {}, {},
                   {"rank: 1 (" + first.rank + "=1) against 2 (" + second.rank + "=2)"});
      for (const auto* chosen : {&first, &second}) {  // one starts the other: a person says which counts
        auto environment = other_world;
        environment["CPIZE_LAUNCHER"] = chosen->name;
        const auto launch = read_launch_environment(environment);
        EXPECT_EQ(launch.source, chosen->name);
        EXPECT_EQ(launch.world, chosen == &first ? 4 : 2);
      }
    }
  expect_error({{"CPIZE_LAUNCHER", "pbs"}}, {}, {}, {"CPIZE_LAUNCHER=pbs", "torchrun, slurm or openmpi"});
}

TEST(LaunchEnvironment, HalfOfWhatIsNeeded) {
  for (const auto& by : launchers()) {
    expect_error({{by.rank, "1"}}, {}, {}, {"rank is 1 (" + by.rank + "=1)", "nothing says of how many"});
    if (by.name == "slurm") continue;  // the job's number of tasks is known in its shell as well, which is no task
    expect_error({{by.world, "4"}}, {}, {}, {"4 ranks (" + by.world + "=4)", "nothing says which one"});
  }
}

TEST(LaunchEnvironment, WhatIsNoNumber) {
  for (const auto& by : launchers())
    for (const std::string bad : {"four", "4x", "-1", "1.5", "99999999999999999999", " 4"}) {
      auto environment = said(by, 0, 4);
      environment[by.world] = bad;
      expect_error(environment, {}, {}, {by.world + "=" + bad, "no number of ranks"});
    }
  auto empty = said(launchers()[0], 0, 4);
  empty["LOCAL_RANK"] = "";  // set and empty is not set
  EXPECT_EQ(read_launch_environment(empty).local_rank, 0);
  expect_error(said(launchers()[0], 0, 0), {}, {}, {"WORLD_SIZE=0", "at least 1"});
}

TEST(LaunchEnvironment, TheLocalNumbersMustFit) {
  for (const auto& by : launchers()) {
    auto environment = said(by, 1, 4);
    environment[by.local_world] = "8";
    expect_error(environment, {}, {}, {"8 local ranks (" + by.local_world + "=8)", "world of 4"});
    environment[by.local_world] = "2";
    environment[by.local_rank] = "2";
    expect_error(environment, {}, {}, {"local rank 2", "2 ranks of this machine"});
  }
}

TEST(LaunchEnvironment, SlurmJobsThatAreNoSteps) {
  // In a batch script SLURM speaks of the job: the script is one process, and what it starts speaks for itself.
  const EnvironmentMap batch{{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
  EXPECT_EQ(read_launch_environment(batch).source, "none");
  const auto inside = read_launch_environment(both(batch, said(launchers()[2], 3, 4)), {}, world_2x2);
  EXPECT_EQ(inside.source, "openmpi");
  EXPECT_EQ(inside.rank, 3);
  EnvironmentMap step = batch;
  step["SLURM_STEP_ID"] = "0";
  step["SLURM_STEP_NUM_TASKS"] = "2";  // srun -n 2 in a job of 4
  step["SLURM_STEP_TASKS_PER_NODE"] = "1(x2)";
  step["SLURM_LOCALID"] = "0";
  const auto launch = read_launch_environment(step);
  EXPECT_EQ(launch.source, "slurm");
  EXPECT_EQ(launch.world, 2);
  EXPECT_EQ(launch.local_world, 1);
}

}  // namespace
}  // namespace cpize
