#include "trunk/cuda/channel_exchange.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "comm/call_site.hpp"
#include "layout/layouts.hpp"

namespace cpize::trunk::cuda {
namespace {

constexpr std::int64_t kAllChannels = 128;

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

bool ChannelExchange::possible(const MeshShape& mesh) {
  return is_power_of_two(mesh.cp_size()) && mesh.cp_size() <= ChannelMemory::kMostBlocks;
}

ChannelExchange::ChannelExchange(MeshPtr mesh, const Shape& global, std::int64_t wanted_chunks)
    : mesh_(std::move(mesh)), tokens_(global[1]), ranks_(mesh_->shape().cp_size()) {
  chunks_ = 1;
  const std::int64_t most = ranks_ == 1 ? 1 : std::min(wanted_chunks, ChannelMemory::kMostBlocks / ranks_);
  while (chunks_ * 2 <= most) chunks_ *= 2;
  channels_ = kAllChannels / (chunks_ * ranks_);
  for (int c0 = 0; c0 < mesh_->shape().extent(Axis::cp0); ++c0)
    for (int c1 = 0; c1 < mesh_->shape().extent(Axis::cp1); ++c1) {
      const Coordinates at{{mesh_->coordinates()[Axis::dp], c0, c1}};
      const int rank = mesh_->shape().rank(at);
      if (rank == mesh_->rank()) self_ = static_cast<std::int64_t>(peers_.size());
      peers_.push_back(rank);
      boxes_.push_back(box_of(Pair::spec, global, mesh_->shape(), at));
    }
  batch_ = boxes_[self_].size[0];
  positions_ = boxes_[self_].size[1] * boxes_[self_].size[2];
}

ChannelBlocks ChannelExchange::allocate(std::int64_t items, const at::TensorOptions& options) const {
  return {at::empty({ranks_ - 1, batch_, channels_, items, positions_}, options),
          at::empty({batch_, channels_, items, positions_}, options)};
}

ChannelMemory ChannelExchange::memory(const std::vector<ChannelBlocks>& chunks, std::int64_t batch_entry) const {
  ChannelMemory m;
  m.block_channels = static_cast<int>(channels_);
  for (std::int64_t k = 0; k < chunks_; ++k)
    for (std::int64_t q = 0; q < ranks_; ++q) {
      const at::Tensor block = q == self_ ? chunks[k].own : chunks[k].remote.select(0, q < self_ ? q : q - 1);
      m.block[k * ranks_ + q] = block.select(0, batch_entry).data_ptr();
    }
  return m;
}

c10::intrusive_ptr<c10d::Work> ChannelExchange::send(at::Tensor receive, at::Tensor send, std::int64_t items,
                                                     bool to_whole) const {
  // Towards whole channels a rank sends its own pairs to everybody; on the way back everybody's pairs to their owners.
  std::vector<std::int64_t> mine(mesh_->size(), 0), theirs(mesh_->size(), 0);
  for (std::int64_t q = 0; q < ranks_; ++q) {
    if (q == self_) continue;
    mine[peers_[q]] = batch_ * channels_ * items * positions_;
    theirs[peers_[q]] = batch_ * channels_ * items * boxes_[q].size[1] * boxes_[q].size[2];
  }
  const comm::CallSite site(to_whole ? "channel exchange: pairs to channels" : "channel exchange: channels to pairs");
  mesh_->traffic().count(static_cast<std::int64_t>(send.nbytes()));
  RECORD_USER_SCOPE("exchange.post");
  return mesh_->backend().alltoall_base(receive, send, to_whole ? theirs : mine, to_whole ? mine : theirs);
}

void ChannelExchange::copy(const at::Tensor& shard, const at::Tensor& whole, const Box& box, bool to_whole) const {
  const std::int64_t rows = box.size[1], columns = box.size[2], planes = whole.numel() / (tokens_ * tokens_);
  auto* in_whole = static_cast<c10::BFloat16*>(whole.data_ptr()) + box.low[1] * tokens_ + box.low[2];
  void* stream = c10::cuda::getCurrentCUDAStream();
  if (to_whole)
    copy_blocks(shard.data_ptr(), rows * columns, columns, in_whole, tokens_ * tokens_, tokens_, planes, rows, columns,
                stream);
  else
    copy_blocks(in_whole, tokens_ * tokens_, tokens_, shard.data_ptr(), rows * columns, columns, planes, rows, columns,
                stream);
}

ChannelExchange::Started ChannelExchange::start_to_whole(ChannelBlocks blocks, std::int64_t items) const {
  Started s{std::move(blocks), {}, {}, items};
  if (ranks_ == 1) return s;
  const std::int64_t elsewhere = tokens_ * tokens_ - positions_;
  s.other = at::empty({batch_ * channels_ * items * elsewhere}, s.blocks.own.options());
  s.work = send(s.other, s.blocks.remote.view({-1}), items, true);
  return s;
}

at::Tensor ChannelExchange::finish_to_whole(Started s) const {
  const Shape shape{batch_, channels_, s.items, tokens_, tokens_};
  if (ranks_ == 1) return s.blocks.own.view(shape);
  at::Tensor whole = at::empty(shape, s.blocks.own.options());
  RECORD_USER_SCOPE("exchange.unpack");
  copy(s.blocks.own, whole, boxes_[self_], true);
  s.work->wait();
  std::int64_t offset = 0;
  for (std::int64_t q = 0; q < ranks_; ++q) {
    if (q == self_) continue;
    const std::int64_t count = batch_ * channels_ * s.items * boxes_[q].size[1] * boxes_[q].size[2];
    copy(s.other.narrow(0, offset, count), whole, boxes_[q], true);
    offset += count;
  }
  return whole;
}

ChannelExchange::Started ChannelExchange::start_to_shards(const at::Tensor& whole) const {
  const std::int64_t items = whole.size(2);
  Started s{{}, {}, {}, items};
  if (ranks_ == 1) {
    s.blocks.own = whole.view({batch_, channels_, items, positions_});
    s.blocks.remote = at::empty({0}, whole.options());
    return s;
  }
  s.blocks = allocate(items, whole.options());
  const std::int64_t elsewhere = tokens_ * tokens_ - positions_;
  s.other = at::empty({batch_ * channels_ * items * elsewhere}, whole.options());
  {
    RECORD_USER_SCOPE("exchange.pack");
    std::int64_t offset = 0;
    for (std::int64_t q = 0; q < ranks_; ++q) {
      if (q == self_) continue;
      const std::int64_t count = batch_ * channels_ * items * boxes_[q].size[1] * boxes_[q].size[2];
      copy(s.other.narrow(0, offset, count), whole, boxes_[q], false);
      offset += count;
    }
  }
  s.work = send(s.blocks.remote.view({-1}), s.other, items, false);
  RECORD_USER_SCOPE("exchange.pack");
  copy(s.blocks.own, whole, boxes_[self_], false);  // while the others travel
  return s;
}

ChannelBlocks ChannelExchange::finish_to_shards(Started s) const {
  if (s.work) s.work->wait();
  return s.blocks;
}

}  // namespace cpize::trunk::cuda
