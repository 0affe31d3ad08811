// PostedOperation: what one rank brings to one collective, and the comparison that makes the threads backend a
// sanitizer.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cpize::comm {

struct PostedOperation {
  c10d::OpType kind = c10d::OpType::UNKNOWN;
  c10d::ReduceOp::RedOpType reduction = c10d::ReduceOp::SUM;  // allreduce only
  at::Tensor output, input;
  std::vector<std::int64_t> output_splits, input_splits;  // alltoall only, in elements of dimension 0
  std::string site;

  /// "allreduce(double [12] at reduce_gradients)"
  std::string str() const;
};

/// Empty if the operations of all ranks belong together, otherwise one line that names two ranks and what each brought.
std::string find_mismatch(const std::vector<std::optional<PostedOperation>>& posted);

}  // namespace cpize::comm
