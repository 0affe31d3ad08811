#include "comm/posted_operation.hpp"

#include <sstream>

namespace cpize::comm {

std::string PostedOperation::str() const {
  std::ostringstream text;
  text << c10d::opTypeToString(kind) << "(";
  if (input.defined()) text << c10::toString(input.scalar_type()) << " " << input.sizes() << " ";
  text << "at " << site << ")";
  return text.str();
}

std::string find_mismatch(const std::vector<std::optional<PostedOperation>>& posted) {
  const PostedOperation& first = *posted[0];
  for (std::size_t r = 1; r < posted.size(); ++r) {
    const PostedOperation& other = *posted[r];
    const char* differs = nullptr;
    if (first.kind != other.kind)
      differs = "kind";
    else if (first.site != other.site)
      differs = "call site";
    else if (first.input.defined() && first.input.scalar_type() != other.input.scalar_type())
      differs = "dtype";
    else if (first.kind == c10d::OpType::ALLREDUCE && first.reduction != other.reduction)
      differs = "reduction";
    else if (first.kind == c10d::OpType::ALLREDUCE && first.input.sizes() != other.input.sizes())
      differs = "shape";
    if (differs)
      return std::string("collective mismatch (") + differs + "): rank 0 " + first.str() + " | rank " +
             std::to_string(r) + " " + other.str();
  }
  if (first.kind != c10d::OpType::ALLTOALL_BASE) return "";
  for (std::size_t s = 0; s < posted.size(); ++s)
    for (std::size_t d = 0; d < posted.size(); ++d)
      if (posted[s]->input_splits[d] != posted[d]->output_splits[s])
        return "collective mismatch (sizes): rank " + std::to_string(s) + " sends " +
               std::to_string(posted[s]->input_splits[d]) + " elements to rank " + std::to_string(d) +
               ", which expects " + std::to_string(posted[d]->output_splits[s]) + ": " + posted[s]->str() + " | " +
               posted[d]->str();
  return "";
}

}  // namespace cpize::comm
