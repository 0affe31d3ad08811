// The store: what is written is read back, stays small, and old keys go.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "evidence.hpp"
#include "files.hpp"

namespace cpize::tool {
namespace {

class EvidenceStoreTest : public ::testing::Test {
 protected:
  EvidenceStoreTest()
      : directory_(fs::temp_directory_path() / ("cpize-evidence-test-" + std::to_string(::getpid()))),
        store_(directory_) {}
  ~EvidenceStoreTest() override { fs::remove_all(directory_); }

  static std::string key(int n) {
    const std::string digits = std::to_string(n);
    return std::string(32 - digits.size(), '0') + digits;
  }
  static Evidence evidence(const std::string& key, int cells, std::size_t prose) {
    Evidence e{"task", key, this_machine(), {}, "artifact-hash"};
    for (int i = 0; i < cells; ++i) {
      Cell c;
      c.judgement.ok = i % 2 == 0;
      c.judgement.why = c.judgement.ok ? "" : "over tolerance: " + std::string(prose, 'w');
      c.judgement.compared = 40;
      c.judgement.worst = Worst{std::string(prose, 'n'), std::string(prose, 'd'), i % 2 ? 2.0 : 0.5, 1.0};
      c.run = {e.machine,
               "2024-02-29T00:00:0" + std::to_string(i % 5) + "Z",
               1.5,
               {{"compiler", std::string(prose, 'c')}, {"program", "0123"}}};
      e.cells["1x2x" + std::to_string(i) + "/threads/fp64/cpu"] = c;
    }
    return e;
  }

  fs::path directory_;
  EvidenceStore store_;
};

TEST_F(EvidenceStoreTest, ComesBack) {
  const Evidence e = evidence(key(1), 3, 10);
  store_.save(e, {{"inputs", {{"a.cpp", "hash"}}}});
  const auto back = store_.load("task", key(1));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].artifact, "artifact-hash");
  ASSERT_EQ(back[0].cells.size(), 3u);
  for (const auto& [name, c] : e.cells) {
    const Cell& b = back[0].cells.at(name);
    EXPECT_EQ(b.judgement.ok, c.judgement.ok);
    EXPECT_EQ(b.judgement.worst->difference, c.judgement.worst->difference);
    EXPECT_EQ(b.run.when, c.run.when);
    EXPECT_EQ(b.run.facts, c.run.facts);
  }
  EXPECT_TRUE(store_.load("task", key(2)).empty());
  EXPECT_TRUE(store_.load("other", key(1)).empty());
  EXPECT_EQ(store_.newest_inputs("task")->at("a.cpp"), "hash");
}

TEST_F(EvidenceStoreTest, SummariesStaySmall) {
  for (const int cells : {1, 8, 9, 18}) {  // 18: a port, over threads, MPI and NCCL, in five launches
    for (const std::size_t prose : {0u, 50u, 400u, 5000u}) {
      const std::string text = summary_text(evidence(key(1), cells, prose), std::string(64, 'f'));
      EXPECT_LE(text.size(), 4096u) << cells << " cells, " << prose;
      store_.save(evidence(key(1), cells, prose), {});
      ASSERT_EQ(store_.load("task", key(1)).size(), 1u);
      EXPECT_EQ(store_.load("task", key(1))[0].cells.size(), static_cast<std::size_t>(cells));
    }
  }
}

TEST_F(EvidenceStoreTest, AnEditedNumberIsNotGreen) {
  store_.save(evidence(key(1), 1, 5), {});
  const fs::path file = store_.summary_file("task", key(1), this_machine());
  std::string text = *read_file(file);
  const std::size_t at = text.find("0.5");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(file) << text.replace(at, 3, "1.5");
  EXPECT_FALSE(store_.load("task", key(1))[0].cells.begin()->second.judgement.ok);
  std::ofstream(file) << text.substr(0, text.size() / 2);
  EXPECT_TRUE(store_.load("task", key(1)).empty()) << "half a file";
}

TEST_F(EvidenceStoreTest, RenamedEvidenceIsNotEvidence) {
  store_.save(evidence(key(1), 1, 5), {});
  fs::copy(store_.summary_file("task", key(1), this_machine()), store_.summary_file("task", key(2), this_machine()));
  EXPECT_TRUE(store_.load("task", key(2)).empty());
}

TEST_F(EvidenceStoreTest, KeepsTheNewestKeys) {
  const auto start = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (int i = 0; i < 40; ++i) {
    store_.save(evidence(key(i), 1, 5), {});
    for (const auto& f : fs::directory_iterator(directory_ / "task")) {
      if (f.path().filename().string().starts_with(key(i)))
        fs::last_write_time(f.path(), start + std::chrono::seconds(i));
    }
  }
  int left = 0;
  for (int i = 0; i < 40; ++i) left += store_.load("task", key(i)).empty() ? 0 : 1;
  EXPECT_EQ(left, 32);
  EXPECT_TRUE(store_.load("task", key(0)).empty());
  EXPECT_FALSE(store_.load("task", key(20)).empty());
}

}  // namespace
}  // namespace cpize::tool
