#include "trunk/cuda/channel_exchange.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <utility>

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
  return {comm::send_buffer(*mesh_, {ranks_ - 1, batch_, channels_, items, positions_}, options),
          at::empty({batch_, channels_, items, positions_}, options)};
}

at::Tensor ChannelExchange::allocate_whole(std::int64_t items, const at::TensorOptions& options) const {
  return comm::send_buffer(*mesh_, {batch_, channels_, items, tokens_, tokens_}, options);
}

ChannelMemory ChannelExchange::memory(const std::vector<ChannelBlocks>& chunks, std::int64_t batch_entry) const {
  ChannelMemory m;
  m.block_channels = static_cast<int>(channels_);
  for (std::int64_t k = 0; k < chunks_; ++k)
    for (std::int64_t q = 0; q < ranks_; ++q) {
      if (!chunks[k].own.defined()) continue;
      const at::Tensor block = q == self_ ? chunks[k].own : chunks[k].remote.select(0, q < self_ ? q : q - 1);
      m.block[k * ranks_ + q] = block.select(0, batch_entry).data_ptr();
    }
  return m;
}

at::Tensor ChannelExchange::block_of(const ChannelBlocks& blocks, std::int64_t q) const {
  const at::Tensor block = q == self_ ? blocks.own : blocks.remote.select(0, q < self_ ? q : q - 1);
  return block.unflatten(-1, {boxes_[self_].size[1], boxes_[self_].size[2]});
}

at::Tensor ChannelExchange::part_of(const at::Tensor& whole, std::int64_t q) const {
  const Box& box = boxes_[q];
  return whole.narrow(3, box.low[1], box.size[1]).narrow(4, box.low[2], box.size[2]);
}

comm::PiecesInFlight ChannelExchange::send(const at::TensorOptions& options, const Part& mine, const Part& theirs,
                                           const char* what) const {
  std::vector<at::Tensor> send(mesh_->size()), places(mesh_->size());
  std::vector<std::int64_t> counts(mesh_->size(), 0);
  for (std::int64_t q = 0; q < ranks_; ++q) {
    if (q == self_) continue;
    send[peers_[q]] = mine(q);
    places[peers_[q]] = theirs(q);
    counts[peers_[q]] = places[peers_[q]].numel();
  }
  const comm::CallSite site(what);
  return {*mesh_, std::move(send), std::move(counts), options, [&](int rank) { return places[rank]; }};
}

void ChannelExchange::finish(Started& s, const Part& place) const {
  s.pieces.finish([&](int rank, const at::Tensor& elements) {
    const at::Tensor there = place(std::ranges::find(peers_, rank) - peers_.begin());
    there.copy_(elements.view(there.sizes()));
  });
}

void ChannelExchange::copy_own(const at::Tensor& shard, const at::Tensor& whole, bool to_whole) const {
  const Box& box = boxes_[self_];
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
  Started s;
  const Shape shape{batch_, channels_, items, tokens_, tokens_};
  if (ranks_ == 1) {
    s.whole = blocks.own.view(shape);
    return s;
  }
  s.whole = at::empty(shape, blocks.own.options());
  s.pieces = send(
      s.whole.options(), [&](std::int64_t q) { return block_of(blocks, q); },
      [&](std::int64_t q) { return part_of(s.whole, q); }, "channel exchange: pairs to channels");
  RECORD_USER_SCOPE("exchange.unpack");
  copy_own(blocks.own, s.whole, true);         // while the others travel
  s.blocks.remote = std::move(blocks.remote);  // peers read it
  return s;
}

at::Tensor ChannelExchange::finish_to_whole(Started s) const {
  if (ranks_ > 1) finish(s, [&](std::int64_t q) { return part_of(s.whole, q); });
  return std::move(s.whole);
}

ChannelExchange::Started ChannelExchange::start_to_shards(at::Tensor whole) const {
  const std::int64_t items = whole.size(2);
  Started s;
  if (ranks_ == 1) {
    s.blocks.own = whole.view({batch_, channels_, items, positions_});
    s.blocks.remote = at::empty({0}, whole.options());
    return s;
  }
  s.blocks = {at::empty({ranks_ - 1, batch_, channels_, items, positions_}, whole.options()),
              at::empty({batch_, channels_, items, positions_}, whole.options())};
  s.pieces = send(
      whole.options(), [&](std::int64_t q) { return part_of(whole, q); },
      [&](std::int64_t q) { return block_of(s.blocks, q); }, "channel exchange: channels to pairs");
  s.whole = std::move(whole);  // peers read it
  RECORD_USER_SCOPE("exchange.pack");
  copy_own(s.blocks.own, s.whole, false);
  return s;
}

ChannelBlocks ChannelExchange::finish_to_shards(Started s) const {
  if (ranks_ > 1) finish(s, [&](std::int64_t q) { return block_of(s.blocks, q); });
  return std::move(s.blocks);
}

}  // namespace cpize::trunk::cuda
