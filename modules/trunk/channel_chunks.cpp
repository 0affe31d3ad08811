#include "trunk/channel_chunks.hpp"

#include <algorithm>

namespace cpize::trunk {

std::vector<ChannelChunk> channel_chunks(std::int64_t channels, std::int64_t ranks, std::int64_t wanted) {
  const std::int64_t units = channels / ranks;
  const std::int64_t count = std::max<std::int64_t>(1, std::min(wanted, units));
  std::vector<ChannelChunk> chunks;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = units * i / count * ranks;
    const std::int64_t end = i + 1 == count ? channels : units * (i + 1) / count * ranks;
    chunks.push_back({begin, end - begin});
  }
  return chunks;
}

}  // namespace cpize::trunk
