// Checkpoints: what was written comes back bit for bit; a killed writer, a damaged file, a foreign name never pass.
#include "lifecycle/checkpoint.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "error/error.hpp"
#include "lifecycle/atomic_folder.hpp"
#include "lifecycle/fingerprint.hpp"

namespace cpize::lifecycle {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "cpize_checkpoint.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  static Checkpoint example(std::int64_t step) {
    const auto value = static_cast<double>(step);
    return {{step, 0xffffffffffffffffULL, "1x2x2", {{"clip_norm", "10"}}},
            {{"a", at::full({2, 3}, value, at::kDouble)}, {"b", at::full({}, value, at::kFloat)}},
            {{"exp_avg.a", at::full({2, 3}, -0.0, at::kDouble)}, {"step.a", at::full({}, step, at::kLong)}},
            Tensors{{"a", at::full({2, 3}, value / 3, at::kDouble)}}};
  }
  static std::string error_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const InputError& e) {
      return e.what();
    }
    return "no InputError";
  }
  void edit_manifest(const std::function<void(nlohmann::json&)>& edit) const {
    std::ifstream in(root_ / "c" / "manifest.json");
    auto manifest = nlohmann::json::parse(in);
    edit(manifest);
    std::ofstream(root_ / "c" / "manifest.json") << manifest;
  }
  std::string read_error() const {
    return error_of([&] { read_checkpoint(root_ / "c"); });
  }

  fs::path root_;
};

TEST_F(CheckpointTest, ComesBackBitForBit) {
  const Checkpoint written = example(7);
  write_checkpoint(root_ / "deep" / "c/", written);
  const Checkpoint read = read_checkpoint(root_ / "deep" / "c");
  EXPECT_EQ(read.manifest.step, 7);
  EXPECT_EQ(read.manifest.seed, written.manifest.seed);
  EXPECT_EQ(read.manifest.mesh, "1x2x2");
  EXPECT_EQ(read.manifest.options, written.manifest.options);
  EXPECT_EQ(fingerprint(read.weights), fingerprint(written.weights));
  EXPECT_EQ(fingerprint(read.optimizer), fingerprint(written.optimizer));
  EXPECT_EQ(fingerprint(*read.ema), fingerprint(*written.ema));
  EXPECT_TRUE(std::signbit(read.optimizer.at("exp_avg.a")[0][0].item<double>()));
  Checkpoint without = example(8);
  without.ema.reset();
  write_checkpoint(root_ / "deep" / "c", without);
  EXPECT_FALSE(read_checkpoint(root_ / "deep" / "c").ema);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "deep"), {}), 1) << "nothing is left over";
}

TEST_F(CheckpointTest, AKilledWriterLeavesTheOldCheckpoint) {
  write_checkpoint(root_ / "c", example(1));
  // Dies by SIGKILL after each of the steps of a writer, in a process of its own.
  for (int die_after = 0; die_after < 4; ++die_after) {
    const pid_t child = fork();
    if (child == 0) {
      AtomicFolder folder(root_ / "c");
      const char* files[] = {"weights.safetensors", "optimizer.safetensors", "manifest.json"};
      for (int i = 0; i < die_after; ++i) std::ofstream(folder.path() / files[i]) << "half";
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(read_checkpoint(root_ / "c").manifest.step, 1);
    EXPECT_EQ(latest_checkpoint(root_), root_ / "c") << "a leftover is no checkpoint, whatever it holds";
    EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 2 + die_after);
  }
  write_checkpoint(root_ / "c", example(2));
  EXPECT_EQ(read_checkpoint(root_ / "c").manifest.step, 2);
}

TEST_F(CheckpointTest, AFailedWriterChangesNothing) {
  write_checkpoint(root_ / "c", example(1));
  Checkpoint bad = example(2);
  bad.optimizer["undefined"] = at::Tensor();
  EXPECT_THROW(write_checkpoint(root_ / "c", bad), ContractError);
  EXPECT_EQ(read_checkpoint(root_ / "c").manifest.step, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
  std::ofstream(root_ / "file") << "x";
  EXPECT_THROW(write_checkpoint(root_ / "file" / "c", example(1)), ResourceError);
}

TEST_F(CheckpointTest, AReaderNeverSeesAHalfReplacedOne) {
  write_checkpoint(root_ / "c", example(0));
  const pid_t child = fork();
  if (child == 0) {
    for (std::int64_t step = 1; step <= 40; ++step) write_checkpoint(root_ / "c", example(step));
    _exit(0);
  }
  int status = 0, reads = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    ++reads;
    try {
      const Checkpoint c = read_checkpoint(root_ / "c");
      ASSERT_EQ(c.optimizer.at("step.a").item<std::int64_t>(), c.manifest.step);
      ASSERT_EQ(c.weights.at("a")[0][0].item<double>(), static_cast<double>(c.manifest.step));
    } catch (const InputError&) {  // replaced between two of its files: refused, never mixed
    }
  }
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_GT(reads, 0);
  EXPECT_EQ(read_checkpoint(root_ / "c").manifest.step, 40);
}

TEST_F(CheckpointTest, DamageIsSeen) {
  const auto fresh = [&] { write_checkpoint(root_ / "c", example(3)); };
  EXPECT_NE(read_error().find("no checkpoint"), std::string::npos);
  fresh();
  {  // one bit of a value, the size unchanged
    std::fstream file(root_ / "c" / "weights.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x01');
  }
  EXPECT_NE(read_error().find("damaged"), std::string::npos) << read_error();
  fresh();
  write_checkpoint(root_ / "d", example(4));
  fs::copy_file(root_ / "d" / "optimizer.safetensors", root_ / "c" / "optimizer.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(read_error().find("of another checkpoint"), std::string::npos) << read_error();
  fresh();
  fs::remove(root_ / "c" / "ema.safetensors");
  EXPECT_NE(read_error().find("ema.safetensors: is listed"), std::string::npos) << read_error();
  fresh();
  edit_manifest([](auto& m) { m["files"].erase("ema.safetensors"); });
  EXPECT_NE(read_error().find("is not listed"), std::string::npos) << read_error();
  const std::vector<std::pair<std::string, std::function<void(nlohmann::json&)>>> edits{
      {"step: is absent", [](auto& m) { m.erase("step"); }},
      {"step: is \"3\", another kind", [](auto& m) { m["step"] = "3"; }},
      {"step: is negative", [](auto& m) { m["step"] = -1; }},
      {"seed: is -1, another kind", [](auto& m) { m["seed"] = -1; }},
      {"stp: is not a field", [](auto& m) { m["stp"] = 1; }},
      {"files.x: is not a field", [](auto& m) { m["files"]["x"] = 1; }},
      {"files.weights.safetensors: is absent", [](auto& m) { m["files"].erase("weights.safetensors"); }},
      {"files.ema.safetensors.bytes: is absent", [](auto& m) { m["files"]["ema.safetensors"].erase("bytes"); }},
      {"version: is 2", [](auto& m) { m["version"] = 2; }},
      {"format: is 'x'", [](auto& m) { m["format"] = "x"; }},
      {"options: is no JSON object", [](auto& m) { m["options"] = 3; }}};
  for (const auto& [expected, edit] : edits) {
    fresh();
    edit_manifest(edit);
    EXPECT_NE(read_error().find(expected), std::string::npos) << read_error();
  }
  fresh();
  std::ofstream(root_ / "c" / "manifest.json") << "{\"step\": 3";
  EXPECT_NE(read_error().find("no valid JSON"), std::string::npos);
}

TEST_F(CheckpointTest, LatestIsTheOneWithTheMostSteps) {
  EXPECT_FALSE(latest_checkpoint(root_ / "nowhere"));
  EXPECT_FALSE(latest_checkpoint(root_));
  for (const std::int64_t step : {9, 10, 2}) write_checkpoint(root_ / ("step_" + std::to_string(step)), example(step));
  fs::create_directory(root_ / "empty");
  fs::rename(root_ / "step_10", root_ / "x");
  EXPECT_EQ(latest_checkpoint(root_), root_ / "x");
}

TEST_F(CheckpointTest, AStateDictLoadsWithListsOfWhatDiffers) {
  torch::nn::Linear linear(3, 2);
  safetensors::write(root_ / "s", {{"weight", at::ones({2, 3}, at::kDouble)}, {"template.x", at::ones({1})}});
  const NameDifferences found = load_state_dict(*linear, root_ / "s");
  EXPECT_EQ(found.missing, std::vector<std::string>{"bias"});
  EXPECT_EQ(found.unexpected, std::vector<std::string>{"template.x"});
  EXPECT_TRUE(at::equal(linear->weight, at::ones({2, 3})));
  EXPECT_EQ(linear->weight.scalar_type(), at::kFloat);
  EXPECT_TRUE(linear->weight.requires_grad());
  safetensors::write(root_ / "s", {{"weight", at::zeros({3, 2})}, {"bias", at::zeros({2})}});
  EXPECT_NE(
      error_of([&] { load_state_dict(*linear, root_ / "s"); }).find("weight: Float [3, 2] in the file, Float [2, 3]"),
      std::string::npos);
  EXPECT_TRUE(at::equal(linear->weight, at::ones({2, 3}))) << "nothing is changed";
  safetensors::write(root_ / "s", {{"other", at::zeros({2})}});
  EXPECT_NE(error_of([&] { load_state_dict(*linear, root_ / "s"); }).find("none of the model's"), std::string::npos);
}

}  // namespace
}  // namespace cpize::lifecycle
