// Rows of pairs on their way, window by window: while one window is worked on the next one comes and the one before
// leaves. For the fused path, where the work on a window takes longer than its exchange.
//
//   main stream   work on 0 | work on 1    | work on 2    | ..
//   copies        in 1      | out 0, in 2  | out 1, in 3  | ..
//
// Window k holds the rows [k size, (k + 1) size) of those that a rank has, fewer or none on a rank that has fewer rows:
// all ranks have as many windows. Sends what AttentionCall::to_rows and to_pairs send. Where they need no exchange, a
// window is a view.
#pragma once
#include <optional>

#include "layout/exchange.hpp"
#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {

/// The most rows that a rank has.
std::int64_t most_rows(const AttentionCall& call);

/// `rows` is what most_rows says, `size` the rows of a window.
struct RowWindows {
  std::int64_t rows = 0, size = 1;

  std::int64_t count() const { return (rows + size - 1) / size; }
};

/// A shard of pairs that arrives in core form.
class IncomingRows {
 public:
  /// local [B,n0,n1,C], any strides; the first window leaves now.
  IncomingRows(const AttentionCall& call, at::Tensor local, const RowWindows& windows);
  /// The next window, [B, count, N, C]; the one after it leaves.
  at::Tensor next();

 private:
  void start();

  const AttentionCall& call_;
  at::Tensor local_;
  RowWindows windows_;
  std::int64_t taken_ = 0;
  std::optional<ExchangeInFlight> coming_;  // window taken_
};

/// Rows in core form that become a shard of pairs.
class OutgoingRows {
 public:
  /// target [B,n0,n1,C], any strides.
  OutgoingRows(const AttentionCall& call, const at::Tensor& target, const RowWindows& windows);
  /// Where the next window is to be written, [B, count, N, C].
  at::Tensor place();
  /// It is written, and leaves.
  void send();
  /// All of the target has arrived.
  void finish();

 private:
  const AttentionCall& call_;
  at::Tensor target_, window_;
  RowWindows windows_;
  std::int64_t sent_ = 0;
  std::optional<ExchangeInFlight> leaving_;
};

}  // namespace cpize::trunk
