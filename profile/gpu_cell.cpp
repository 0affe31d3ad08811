#include "profile/gpu_cell.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "error/error.hpp"

namespace cpize::profile {
namespace {

at::Tensor bytes_of(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.data_ptr<std::uint8_t>());
  return bytes;
}

std::string text_of(const at::Tensor& bytes) {
  const auto* data = bytes.data_ptr<std::uint8_t>();
  return std::string(data, data + bytes.numel());
}

}  // namespace

std::vector<RankFindings> on_every_gpu(const parity::Setting& setting,
                                       const std::function<RankFindings(const MeshPtr&)>& f) {
  const auto reports = parity::on_every_rank(setting, [&](const MeshPtr& mesh) {
    const RankFindings mine = f(mesh);
    parity::RankReport report;
    report.numbers = mine.numbers;
    for (const auto& [name, text] : mine.texts) report.tensors[name] = bytes_of(text);
    return report;
  });
  std::vector<RankFindings> ranks;
  for (const auto& report : reports) {
    ranks.push_back({report.numbers, {}});
    for (const auto& [name, bytes] : report.tensors) ranks.back().texts[name] = text_of(bytes);
  }
  return ranks;
}

const RankFindings& largest_by(const std::vector<RankFindings>& ranks, const std::string& number) {
  return *std::max_element(ranks.begin(), ranks.end(), [&](const RankFindings& a, const RankFindings& b) {
    return a.numbers.at(number) < b.numbers.at(number);
  });
}

std::string first_text(const std::vector<RankFindings>& ranks, const std::string& name) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (const auto& text = ranks[rank].texts.at(name); !text.empty())
      return "rank " + std::to_string(rank) + ": " + text;
  return "";
}

parity::Sizes sizes_by_hand(const parity::Request& request, const parity::Setting& setting) {
  parity::Sizes sizes;
  if (setting.device_type != at::kCPU) sizes.set("N", 1024);
  for (const auto& [letter, value] : request.sizes) sizes.set(letter, value);
  return sizes;
}

parity::Request with_output_folder(parity::Request request, const std::string& report) {
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    if (request.arguments[i] != "--out" || !request.by_hand)
      throw ConfigError("'" + request.arguments[i] + "' is none of --cell, --mesh, --size, --out");
    if (++i == request.arguments.size()) throw ConfigError("--out needs a folder");
    request.artifact = (std::filesystem::path(request.arguments[i]) / report).string();
  }
  return request;
}

std::string beside_artifact(const parity::Request& request, const std::string& ending) {
  if (request.artifact.empty()) return "";
  const std::filesystem::path artifact(request.artifact);
  std::filesystem::create_directories(artifact.parent_path());
  return (artifact.parent_path() / (artifact.stem().string() + "." + ending)).string();
}

}  // namespace cpize::profile
