// Safetensors files: round trips, the exact layout, every refusal, atomic replacement, and reading and writing by
// Python.
#include "safetensors/safetensors.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "error/error.hpp"

namespace {

namespace st = cpize::safetensors;
using cpize::InputError;

class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "cpize_safetensors_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "file.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& header, const std::string& data) const {
    const std::uint64_t length = header.size();
    std::ofstream stream(path_, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(&length), sizeof(length));
    stream << header << data;
  }

  std::string bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// The message of the InputError that reading the file raises; empty if it is read.
  std::string refusal() const {
    try {
      st::read(path_);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(path_.string()), std::string::npos) << "names the file";
      return error.what();
    }
    return {};
  }

  void expect_refused(const std::string& header, const std::string& data, const std::string& reason) const {
    put(header, data);
    EXPECT_NE(refusal().find(reason), std::string::npos) << header << "\ngave: " << refusal();
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

st::Tensors every_dtype() {
  at::manual_seed(4);
  st::Tensors tensors;
  for (auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort, at::kChar,
                     at::kByte, at::kBool}) {
    tensors[std::string("t.") + c10::toString(dtype)] = (at::rand({3, 1, 5}, at::kDouble) * 3).to(dtype);
  }
  tensors["scalar"] = at::scalar_tensor(2.5, at::kDouble);
  tensors["empty"] = at::zeros({4, 0, 2}, at::kFloat);
  tensors["strided \"name\" \xc3\xa4"] = at::arange(12, at::kLong).view({3, 4}).t();
  return tensors;
}

TEST_F(SafetensorsTest, RoundTripIsExact) {
  const auto tensors = every_dtype();
  const st::Metadata metadata{{"config", R"({"dim": 8})"}, {"empty", ""}};
  st::write(path_, tensors, metadata);
  const auto file = st::read(path_);
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(st::read_metadata(path_), metadata);
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor& got = file.tensors.at(name);
    EXPECT_EQ(got.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(got, tensor)) << name;
    EXPECT_TRUE(at::equal(st::read_tensor(path_, name), tensor)) << name;
  }
  EXPECT_THROW(st::read_tensor(path_, "absent"), InputError);
}

TEST_F(SafetensorsTest, NaNPayloadsAndSignedZerosSurvive) {
  const at::Tensor bits = at::tensor({int64_t{0x7ff8000000000123}, INT64_MIN, int64_t{1}});
  st::write(path_, {{"x", bits.view(at::kDouble)}});
  EXPECT_TRUE(at::equal(st::read(path_).tensors.at("x").view(at::kLong), bits));
}

TEST_F(SafetensorsTest, LayoutIsDeterministicAndWidestFirst) {
  st::write(path_,
            {{"b", at::tensor({1.0, 2.0}, at::kDouble)},
             {"a", at::tensor({1, 0}).to(at::kBool)},
             {"c", at::tensor({7}, at::kLong)}},
            {{"k", "v"}});
  const std::string first = bytes();
  std::uint64_t length = 0;
  std::copy_n(first.data(), sizeof(length), reinterpret_cast<char*>(&length));
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(
      first.substr(8, first.find_last_of('}') - 7),
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
      R"("c":{"dtype":"I64","shape":[1],"data_offsets":[16,24]},"a":{"dtype":"BOOL","shape":[2],"data_offsets":[24,26]}})");
  st::write(path_, st::read(path_).tensors, {{"k", "v"}});
  EXPECT_EQ(bytes(), first);
}

TEST_F(SafetensorsTest, TruncationAtEveryByteIsRefused) {
  st::write(path_, {{"x", at::ones({3}, at::kDouble)}, {"y", at::ones({5}, at::kByte)}});
  const std::string whole = bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(refusal().empty()) << size << " of " << whole.size() << " bytes";
  }
  std::ofstream(path_, std::ios::binary) << whole << '\0';
  EXPECT_NE(refusal().find("belong to none"), std::string::npos);
}

TEST_F(SafetensorsTest, RefusesWhatIsWrongByName) {
  const std::string four(4, '\0'), eight(8, '\0');
  expect_refused(R"({"x": )", "", "header: not valid JSON");
  expect_refused(R"([1])", "", "header: expected an object");
  expect_refused(R"({"x": 3})", "", ", x: expected an object");
  expect_refused(R"({"x":{"dtype":"F8","shape":[4],"data_offsets":[0,4]}})", four, ", x: unknown dtype \"F8\"");
  expect_refused(R"({"x":{"dtype":"F32","shape":[1]}})", four, ", x: key 'data_offsets' is missing");
  expect_refused(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"stride":[1]}})", four,
                 ", x: unknown key 'stride'");
  expect_refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four,
                 ", x: shape [2] of \"F32\" needs 8 bytes");
  expect_refused(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four,
                 ", x: extent of shape must be a whole number");
  expect_refused(R"({"x":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", four,
                 ", x: extent of shape must be a whole number");
  expect_refused(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "",
                 ", x: shape is too large");
  expect_refused(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four,
                 ", x: data_offsets [4,0] end before they begin");
  expect_refused(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
      eight, ", y: data overlaps the tensor before it");
  expect_refused(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
      eight + four, ", y: data leaves a hole");
  expect_refused(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      eight, "key 'x' appears twice");
  expect_refused(R"({"__metadata__":{"k":1}})", "", "__metadata__: value of 'k' must be text");
  expect_refused(R"({"x":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}})", std::string("\1\0\2\0", 4),
                 ", x: BOOL element 2");
  std::filesystem::remove(path_);
  EXPECT_NE(refusal().find("cannot be read"), std::string::npos);
}

TEST_F(SafetensorsTest, HugeClaimsAllocateNothing) {
  std::ofstream(path_, std::ios::binary) << std::string(8, '\xff') << "{}";
  EXPECT_NE(refusal().find("the header claims"), std::string::npos);
  put(R"({"x":{"dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904]}})", "abc");
  EXPECT_NE(refusal().find("truncated"), std::string::npos);
}

TEST_F(SafetensorsTest, RefusesTensorsThatTheFormatDoesNotHold) {
  EXPECT_THROW(st::write(path_, {{"x", at::Tensor()}}), cpize::ContractError);
  EXPECT_THROW(st::write(path_, {{"x", at::zeros({2}, at::kComplexFloat)}}), cpize::ContractError);
  EXPECT_THROW(st::write(path_, {{"__metadata__", at::zeros({2})}}), cpize::ContractError);
  EXPECT_THROW(st::write(path_, {{"\xff", at::zeros({2})}}), cpize::ContractError);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SafetensorsTest, FailedWriteKeepsTheOldFileAndLeavesNoOther) {
  st::write(path_, {{"x", at::ones({2})}});
  const std::string old = bytes();
  const auto blocked = folder_ / "folder";  // a folder cannot be replaced by a file, so the last step fails
  std::filesystem::create_directories(blocked / "inside");
  EXPECT_THROW(st::write(blocked, {{"x", at::zeros({2})}}), cpize::ResourceError);
  EXPECT_THROW(st::write(folder_ / "absent" / "file", {{"x", at::zeros({2})}}), cpize::ResourceError);
  EXPECT_EQ(bytes(), old);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
  st::write(path_, {{"x", at::zeros({2})}});
  EXPECT_NE(bytes(), old);
}

TEST_F(SafetensorsTest, PythonReadsOursAndWeReadPythons) {
  st::write(path_,
            {{"w", at::arange(6, at::kDouble).view({2, 3}) / 4},
             {"n", at::tensor({-3, 5}, at::kInt)},
             {"m", at::tensor({1, 0}).to(at::kBool)}},
            {{"step", "10"}});
  const auto back = folder_ / "python.safetensors";
  const std::string command = std::string("\"") + CPIZE_PYTHON + "\" \"" + CPIZE_SCRIPT + "\" \"" + path_.string() +
                              "\" \"" + back.string() + "\"";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto file = st::read(back);
  EXPECT_EQ(file.metadata, (st::Metadata{{"by", "python"}, {"step", "11"}}));
  EXPECT_TRUE(at::equal(file.tensors.at("w"), at::arange(6, at::kDouble).view({2, 3}) / 2));
  EXPECT_TRUE(at::equal(file.tensors.at("n"), at::tensor({-3, 5}, at::kInt)));
  EXPECT_TRUE(at::equal(file.tensors.at("m"), at::tensor({1, 0}).to(at::kBool)));
}

}  // namespace
