// Channel chunks: how a triangle multiplication cuts its channels, so that only a part of them travels at a time.
//
// Every chunk but the last is a multiple of the ranks, so that the balanced parts of the chunks add up to the balanced
// parts of all channels: chunking sends not one byte more.  C = 128, Q = 9, 4 chunks: 27, 36, 27, 38.
#pragma once
#include <cstdint>
#include <vector>

namespace cpize::trunk {

struct ChannelChunk {
  std::int64_t begin, size;
};

/// At most `wanted` chunks of `channels` for `ranks` = cp0 * cp1; a single one where there are fewer channels than
/// ranks.
std::vector<ChannelChunk> channel_chunks(std::int64_t channels, std::int64_t ranks, std::int64_t wanted);

}  // namespace cpize::trunk
