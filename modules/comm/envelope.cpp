#include "comm/envelope.hpp"

#include <cstring>
#include <string_view>

namespace cpize::comm {
namespace {

std::uint64_t hash(std::string_view bytes) {  // FNV-1a: the same on every machine
  std::uint64_t h = 14695981039346656037ull;
  for (const unsigned char c : bytes) h = (h ^ c) * 1099511628211ull;
  return h;
}

}  // namespace

Envelope envelope_of(const PostedOperation& operation, std::uint64_t sequence, int to) {
  Envelope e;
  e.sequence = sequence;
  e.kind = static_cast<std::int32_t>(operation.kind);
  e.site = hash(operation.site);
  if (operation.input.defined()) e.dtype = static_cast<std::int32_t>(operation.input.scalar_type());
  if (operation.kind == c10d::OpType::ALLREDUCE) {
    e.reduction = static_cast<std::int32_t>(operation.reduction);
    const auto sizes = operation.input.sizes();
    e.shape = hash({reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(std::int64_t)});
  }
  if (operation.kind == c10d::OpType::ALLTOALL_BASE) e.for_you = operation.input_splits[to];
  const std::string text = operation.str();
  std::memcpy(e.text, text.data(), std::min(text.size(), sizeof e.text - 1));
  return e;
}

std::string find_mismatch(const PostedOperation& mine, int rank, const Envelope& theirs, int from) {
  const Envelope own = envelope_of(mine, theirs.sequence, from);
  const char* differs = nullptr;
  if (own.kind != theirs.kind)
    differs = "kind";
  else if (own.site != theirs.site)
    differs = "call site";
  else if (own.dtype != theirs.dtype)
    differs = "dtype";
  else if (own.reduction != theirs.reduction)
    differs = "reduction";
  else if (own.shape != theirs.shape)
    differs = "shape";
  const std::string me = "rank " + std::to_string(rank), they = "rank " + std::to_string(from);
  if (differs)
    return std::string("collective mismatch (") + differs + "): " + me + " " + mine.str() + " | " + they + " " +
           theirs.text;
  if (mine.kind == c10d::OpType::ALLTOALL_BASE && theirs.for_you != mine.output_splits[from])
    return "collective mismatch (sizes): " + they + " sends " + std::to_string(theirs.for_you) + " elements to " + me +
           ", which expects " + std::to_string(mine.output_splits[from]) + ": " + theirs.text + " | " + mine.str();
  return "";
}

}  // namespace cpize::comm
