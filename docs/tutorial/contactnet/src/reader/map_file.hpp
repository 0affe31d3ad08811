// Reads height maps: a line "map <name> <N>", then N lines of N numbers. '#' begins a comment.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace reader {

struct Map {
  std::string name;
  int64_t size = 0;
  std::vector<double> height;  // row by row
};

/// std::runtime_error naming file and line where the file is not as above.
Map read_map(const std::string& path);

struct Batch {
  at::Tensor height;   // [B,N,N] fp64, 0 in padding
  at::Tensor present;  // [B,N] fp64, 1 where the map has this row and column
};
/// N is the size of the largest map.
Batch collate(const std::vector<Map>& maps);

}  // namespace reader
