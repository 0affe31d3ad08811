// Channel exchange: between shards of pairs, all channels, and whole planes of pairs, some channels, in the blocks that
// the fused kernels write and read. The same distribution as Pair -> PairByChannel with the channels dealt in chunks;
// here the sender's memory is already packed, one block a rank, so that only the receiver copies.
//
// Q ranks of one dp coordinate; 128 channels in `chunks` chunks, of each of which rank q holds d = 128 / (chunks Q):
// chunk k, rank q owns channels (k Q + q) d ... Shapes: P pairs of this shard, `items` tensors a channel (2 for a and
// b). Communication: one exchange of pieces a start (comm/pieces.hpp), over the whole mesh; what stays here is not
// sent. Between GPUs that read each other's memory blocks go straight into whole planes and back, beside whatever the
// GPU computes. CUDA, bf16.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

#include "comm/pieces.hpp"
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

  /// Blocks to be sent to whole planes, and whole planes to be sent back: in memory that peers reach.
  ChannelBlocks allocate(std::int64_t items, const at::TensorOptions& options) const;
  at::Tensor allocate_whole(std::int64_t items, const at::TensorOptions& options) const;  // [B, d, items, N, N]
  /// The blocks of all chunks, as one batch entry for the kernels; those of a chunk that is not there are null.
  ChannelMemory memory(const std::vector<ChannelBlocks>& chunks, std::int64_t batch_entry) const;

  struct Started {
    at::Tensor whole;
    ChannelBlocks blocks;
    comm::PiecesInFlight pieces;
  };
  Started start_to_whole(ChannelBlocks blocks, std::int64_t items) const;
  at::Tensor finish_to_whole(Started started) const;  // [B, d, items, N, N]
  Started start_to_shards(at::Tensor whole) const;
  ChannelBlocks finish_to_shards(Started started) const;

 private:
  /// What belongs to rank q of the dp coordinate, [B, d, items, n0, n1].
  using Part = std::function<at::Tensor(std::int64_t q)>;
  at::Tensor block_of(const ChannelBlocks& blocks, std::int64_t q) const;
  at::Tensor part_of(const at::Tensor& whole, std::int64_t q) const;
  comm::PiecesInFlight send(const at::TensorOptions& options, const Part& mine, const Part& theirs,
                            const char* what) const;
  void finish(Started& started, const Part& place) const;
  void copy_own(const at::Tensor& shard, const at::Tensor& whole, bool to_whole) const;

  MeshPtr mesh_;
  std::int64_t tokens_, batch_, positions_, chunks_, channels_, ranks_;
  std::vector<Box> boxes_;  // of the ranks of this dp coordinate, in rank order
  std::vector<int> peers_;  // their ranks in the mesh
  std::int64_t self_ = 0;   // this rank's place among them
};

}  // namespace cpize::trunk::cuda
