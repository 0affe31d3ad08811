// Envelope: what goes ahead of every operation to every peer, so that ranks that do not do the same thing notice before
// data moves.
#pragma once
#include <cstdint>
#include <string>

#include "comm/posted_operation.hpp"

namespace cpize::comm {

struct Envelope {
  std::uint64_t sequence = 0;
  std::int32_t kind = 0, reduction = 0, dtype = -1, unused = 0;
  std::uint64_t shape = 0, site = 0;  // hashes
  std::int64_t for_you = 0;           // elements that the sender of the envelope sends to its receiver (all-to-all)
  char text[208] = {};                // PostedOperation::str(), cut
};

/// `to`: the rank that reads it.
Envelope envelope_of(const PostedOperation& operation, std::uint64_t sequence, int to);

/// Empty where `theirs`, from rank `from`, belongs to `mine` of rank `rank`; else one line that names both.
std::string find_mismatch(const PostedOperation& mine, int rank, const Envelope& theirs, int from);

}  // namespace cpize::comm
