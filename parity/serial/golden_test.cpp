// The golden tests: one test for each case that a golden set lists and a serial block covers, named after the case.
//
// The set is the committed one unless the environment variable CPIZE_GOLDEN_DIR names another. The environment is for
// trying: run by the `cpize` tool (which sets CPIZE_TASK), only the committed set counts, since it becomes evidence.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "parity/serial/golden_check.hpp"
#include "parity/serial/golden_operation.hpp"

namespace {

using cpize::parity::GoldenCase;

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(GoldenCase golden) : golden_(std::move(golden)) {}

  void TestBody() override {
    const auto result = cpize::parity::check_golden(golden_);
    EXPECT_TRUE(result.passed()) << result.failures();
    if (result.comparisons.empty()) return;
    const auto& worst = result.worst();
    std::printf("%-44s %2zu tensors, worst difference %.2e (tolerance %.0e) in %s\n", golden_.name.c_str(),
                result.comparisons.size(), worst.difference, worst.tolerance, worst.name.c_str());
  }

 private:
  GoldenCase golden_;
};

std::string golden_directory() {
  if (std::getenv("CPIZE_TASK") != nullptr) return CPIZE_COMMITTED_GOLDEN_DIR;
  const char* environment = std::getenv("CPIZE_GOLDEN_DIR");
  return environment != nullptr && *environment != '\0' ? environment : CPIZE_GOLDEN_DIR;
}

int run() {
  const std::string directory = golden_directory();
  std::printf("golden set: %s\n", directory.c_str());
  std::size_t known = 0;
  for (const GoldenCase& golden : cpize::parity::read_golden_index(directory)) {
    if (!cpize::parity::knows_operation(golden.module)) {
      std::printf("not ours yet: %s (%s)\n", golden.name.c_str(), golden.module.c_str());
      continue;
    }
    ++known;
    testing::RegisterTest("golden", golden.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [golden]() -> GoldenTest* { return new GoldenTest(golden); });
  }
  if (known == 0) {
    std::fprintf(stderr, "%s/index.json lists no case that a serial block covers: nothing would be tested\n",
                 directory.c_str());
    return 2;
  }
  return RUN_ALL_TESTS();
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
