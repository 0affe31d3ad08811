#include "trunk/triangle_attention/attention_rows.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "error/error.hpp"

namespace cpize::trunk {
namespace {

ExchangeWindow exchange_window(const AttentionCall& call, ExchangeWindow::Side side, std::int64_t begin,
                               std::int64_t count) {
  return {side, call.node == TriangleNode::starting ? 1 : 2, begin, count};
}

/// Where no exchange is needed: rows of `local` itself.
at::Tensor view_of(const AttentionCall& call, const at::Tensor& local, std::int64_t begin, std::int64_t count) {
  const at::Tensor rows = call.turned(local);
  begin = std::min(begin, rows.size(1));
  return rows.narrow(1, begin, std::min(count, rows.size(1) - begin));
}

}  // namespace

std::int64_t most_rows(const AttentionCall& call) {
  const std::int64_t ranks = call.mesh->shape().cp_size();
  return (call.global[1] + ranks - 1) / ranks;
}

IncomingRows::IncomingRows(const AttentionCall& call, at::Tensor local, const RowWindows& windows)
    : call_(call), local_(std::move(local)), windows_(windows) {
  start();
}

void IncomingRows::start() {
  if (!call_.exchanges_rows() || taken_ == windows_.count()) return;
  const std::int64_t begin = windows_.size * taken_;
  coming_.emplace(local_, Pair::spec, call_.rows_spec(), call_.with_channels(local_), call_.mesh,
                  exchange_window(call_, ExchangeWindow::Side::target, begin, windows_.size));
}

at::Tensor IncomingRows::next() {
  if (taken_ == windows_.count()) throw ContractError("triangle attention: no window of rows is left");
  const std::int64_t begin = windows_.size * taken_++;
  if (!call_.exchanges_rows()) return view_of(call_, local_, begin, windows_.size);
  const at::Tensor rows = call_.turned(coming_->finish());
  coming_.reset();
  start();
  return rows;
}

OutgoingRows::OutgoingRows(const AttentionCall& call, const at::Tensor& target, const RowWindows& windows)
    : call_(call), target_(target), windows_(windows) {}

at::Tensor OutgoingRows::place() {
  const std::int64_t begin = windows_.size * sent_;
  if (!call_.exchanges_rows()) return view_of(call_, target_, begin, windows_.size);
  Shape size = call_.rows_shape(target_.size(3));
  size[1] = std::clamp<std::int64_t>(size[1] - begin, 0, windows_.size);
  return window_ = comm::send_buffer(*call_.mesh, size, target_.options());
}

void OutgoingRows::send() {
  const std::int64_t begin = windows_.size * sent_++;
  if (!call_.exchanges_rows()) return;
  std::optional<ExchangeInFlight> before = std::exchange(leaving_, std::nullopt);
  leaving_.emplace(call_.turned(window_), call_.rows_spec(), Pair::spec, call_.with_channels(target_), call_.mesh,
                   exchange_window(call_, ExchangeWindow::Side::source, begin, windows_.size), target_);
  window_.reset();
  if (before) before->finish();  // it went while this window was worked on
}

void OutgoingRows::finish() {
  if (leaving_) leaving_->finish();
  leaving_.reset();
}

}  // namespace cpize::trunk
