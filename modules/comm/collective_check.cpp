#include "comm/collective_check.hpp"

#include <ATen/ATen.h>

#include <cstring>

#include "comm/envelope.hpp"
#include "error/error.hpp"

namespace cpize::comm {
namespace {

constexpr std::int64_t words = sizeof(Envelope) / sizeof(std::int64_t);
static_assert(sizeof(Envelope) % sizeof(std::int64_t) == 0);

}  // namespace

void check_collective(c10d::Backend& backend, at::Device device, const PostedOperation& mine) {
  const int ranks = backend.getSize(), rank = backend.getRank();
  if (ranks == 1) return;
  // a row a rank: its envelope, and how much it sends to each rank
  at::Tensor all = at::zeros({ranks, words + ranks}, at::kLong);
  PostedOperation written = mine;
  written.input_splits.resize(ranks, 0);
  const Envelope envelope = envelope_of(written, 0, 0);
  auto* row = all[rank].data_ptr<std::int64_t>();
  std::memcpy(row, &envelope, sizeof envelope);
  for (int r = 0; r < ranks; ++r) row[words + r] = written.input_splits[r];
  std::vector<at::Tensor> tensors{all.to(device)};
  backend.allreduce(tensors)->wait();
  all = tensors[0].cpu();

  // What a rank sends to another only the receiver can compare, so whether anybody disagrees is a second question to
  // all.
  std::string mismatch;
  for (int r = 0; r < ranks && mismatch.empty(); ++r) {
    Envelope theirs;
    std::memcpy(static_cast<void*>(&theirs), all[r].data_ptr<std::int64_t>(), sizeof theirs);
    theirs.for_you = all[r][words + rank].item<std::int64_t>();
    mismatch = find_mismatch(mine, rank, theirs, r);
  }
  at::Tensor bad = at::full({1}, mismatch.empty() ? 0 : rank + 1, at::kLong).to(device);
  std::vector<at::Tensor> worst{bad};
  c10d::AllreduceOptions max;
  max.reduceOp = c10d::ReduceOp::MAX;
  backend.allreduce(worst, max)->wait();
  const auto who = worst[0].cpu().item<std::int64_t>();
  if (!mismatch.empty()) throw PeerError(mismatch);
  if (who > 0)
    throw PeerError("collective mismatch: rank " + std::to_string(who - 1) + " disagrees with another rank about " +
                    mine.str());
}

}  // namespace cpize::comm
