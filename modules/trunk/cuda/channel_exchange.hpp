// Channel exchange: between shards of pairs, all channels, and whole planes of pairs, some channels, in the blocks that
// the fused kernels write and read. The same distribution as Pair -> PairByChannel with the channels dealt in chunks;
// here the sender's memory is already packed, one block a rank, so that only the receiver copies.
//
// Q ranks of one dp coordinate; 128 channels in `chunks` chunks, of each of which rank q holds d = 128 / (chunks Q):
// chunk k, rank q owns channels (k Q + q) d ... Shapes: P pairs of this shard, `items` tensors a channel (2 for a and
// b). Communication: one alltoall_base a start, over the whole mesh; what stays here is not sent. CUDA, bf16.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "layout/box.hpp"
#include "mesh/device_mesh.hpp"
#include "trunk/cuda/triangle_kernels.hpp"

namespace cpize::trunk::cuda {

/// This rank's pairs, one chunk of channels: a block for every other rank, in rank order, and the one that stays.
struct ChannelBlocks {
  at::Tensor remote;  // [Q-1, B, d, items, P]
  at::Tensor own;     // [B, d, items, P]
};

class ChannelExchange {
 public:
  /// `global`: [B, N, N, 128] of z. `wanted_chunks` is cut to what the ranks allow; 1 where there is one rank.
  ChannelExchange(MeshPtr mesh, const Shape& global, std::int64_t wanted_chunks);
  /// Whether Q divides 128 into blocks that the kernels can address.
  static bool possible(const MeshShape& mesh);

  std::int64_t chunks() const { return chunks_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t positions() const { return positions_; }

  ChannelBlocks allocate(std::int64_t items, const at::TensorOptions& options) const;
  /// The blocks of all chunks, as one batch entry for the kernels.
  ChannelMemory memory(const std::vector<ChannelBlocks>& chunks, std::int64_t batch_entry) const;

  struct Started {
    ChannelBlocks blocks;
    at::Tensor other;  // what is received (to_whole) or sent (to_shards)
    c10::intrusive_ptr<c10d::Work> work;
    std::int64_t items = 0;
  };
  Started start_to_whole(ChannelBlocks blocks, std::int64_t items) const;
  at::Tensor finish_to_whole(Started started) const;  // [B, d, items, N, N]
  Started start_to_shards(const at::Tensor& whole) const;
  ChannelBlocks finish_to_shards(Started started) const;

 private:
  c10::intrusive_ptr<c10d::Work> send(at::Tensor receive, at::Tensor send, std::int64_t items, bool to_whole) const;
  void copy(const at::Tensor& shard, const at::Tensor& whole, const Box& box, bool to_whole) const;

  MeshPtr mesh_;
  std::int64_t tokens_, batch_, positions_, chunks_, channels_, ranks_;
  std::vector<Box> boxes_;  // of the ranks of this dp coordinate, in rank order
  std::vector<int> peers_;  // their ranks in the mesh
  std::int64_t self_ = 0;   // this rank's place among them
};

}  // namespace cpize::trunk::cuda
