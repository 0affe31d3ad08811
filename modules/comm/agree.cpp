#include "comm/agree.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <cstring>

#include "comm/call_site.hpp"
#include "error/error.hpp"

namespace cpize::comm {
namespace {

constexpr std::int64_t message_words = 48;  // 384 bytes of an error message reach the peers

/// Sums a zero tensor in which each rank fills its own row: a gather over the one reduction that all backends have.
at::Tensor gather_rows(const DeviceMesh& mesh, const at::Tensor& row, const char* what) {
  at::Tensor all = at::zeros({mesh.size(), row.size(0)}, at::kLong);
  all[mesh.rank()].copy_(row);
  if (mesh.size() > 1) {
    CallSite site(what);
    std::vector<at::Tensor> tensors{all.to(mesh.control_device())};
    mesh.backend().allreduce(tensors)->wait();
    mesh.traffic().count(2 * static_cast<std::int64_t>(all.nbytes()) * (mesh.size() - 1) / mesh.size());
    all = tensors[0].cpu();
  }
  return all;
}

}  // namespace

std::vector<std::int64_t> gather_numbers(const DeviceMesh& mesh, std::int64_t mine) {
  const at::Tensor all = gather_rows(mesh, at::full({1}, mine, at::kLong), "agree: numbers");
  return {all.data_ptr<std::int64_t>(), all.data_ptr<std::int64_t>() + mesh.size()};
}

void agree_no_error(const DeviceMesh& mesh, const std::string& error) {
  at::Tensor row = at::zeros({1 + message_words}, at::kLong);
  auto* words = row.data_ptr<std::int64_t>();
  words[0] = error.empty() ? 0 : 1;
  std::memcpy(words + 1, error.data(), std::min<std::size_t>(error.size(), message_words * sizeof(std::int64_t) - 1));
  const at::Tensor all = gather_rows(mesh, row, "agree: errors");
  for (int r = 0; r < mesh.size(); ++r) {
    const auto* theirs = all[r].data_ptr<std::int64_t>();
    if (theirs[0] != 0)
      throw PeerError("rank " + std::to_string(r) + " failed: " + reinterpret_cast<const char*>(theirs + 1));
  }
}

void agree_after(const DeviceMesh& mesh, const std::function<void()>& local) {
  std::exception_ptr failure;
  std::string error;
  try {
    local();
  } catch (const c10::Error& e) {
    failure = std::current_exception();
    error = e.what_without_backtrace();
  } catch (const std::exception& e) {
    failure = std::current_exception();
    error = e.what();
    if (error.empty()) error = "an error without a message";
  }
  try {
    agree_no_error(mesh, error);
  } catch (const PeerError&) {
    if (failure) std::rethrow_exception(failure);
    throw;
  }
}

void agree_equal(const DeviceMesh& mesh, const std::string& what, std::int64_t value) {
  const auto values = gather_numbers(mesh, value);
  std::string differing;
  for (int r = 1; r < mesh.size(); ++r)
    if (values[r] != values[0])
      differing += (differing.empty() ? "rank " : ", rank ") + std::to_string(r) + " has " + std::to_string(values[r]);
  if (!differing.empty())
    throw ContractError(what + " differs between ranks: rank 0 has " + std::to_string(values[0]) + ", " + differing);
}

bool agree_any(const DeviceMesh& mesh, bool mine) {
  bool any = false;
  for (const auto said : gather_numbers(mesh, mine ? 1 : 0)) any = any || said != 0;
  return any;
}

void agree_finite(const DeviceMesh& mesh, const std::string& what, double value) {
  agree_after(mesh, [&] {
    if (!std::isfinite(value)) throw Error(what + " is " + (std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"));
  });
}

std::vector<std::string> gather_bytes(const DeviceMesh& mesh, const std::string& mine) {
  const auto lengths = gather_numbers(mesh, static_cast<std::int64_t>(mine.size()));
  std::int64_t words = 0;
  for (const auto bytes : lengths) words = std::max(words, (bytes + 7) / 8);
  at::Tensor row = at::zeros({words}, at::kLong);
  if (!mine.empty()) std::memcpy(row.data_ptr<std::int64_t>(), mine.data(), mine.size());
  const at::Tensor all = gather_rows(mesh, row, "agree: bytes");
  std::vector<std::string> texts;
  for (int r = 0; r < mesh.size(); ++r)
    texts.emplace_back(words ? reinterpret_cast<const char*>(all.data_ptr<std::int64_t>() + r * words) : "",
                       static_cast<std::size_t>(lengths[r]));
  return texts;
}

}  // namespace cpize::comm
