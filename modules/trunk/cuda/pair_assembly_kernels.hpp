// Pair assembly on GPUs: z[i, j] = rows[i] + columns[j] + four rows of a table + bond[i, j] w in one pass, and the sums
// that its backward needs. Launchers, no torch.
//
// Activations bf16 (`narrow`) or fp32, sums in fp32. `channels` is a multiple of 8 and at most 256. Positions are a
// panel of whole rows: position p is (p / columns_count, p % columns_count). Device memory; `stream` is a cudaStream_t.
#pragma once
#include <cstdint>

namespace cpize::trunk::cuda {

struct PairPanel {
  std::int64_t row_count = 0, column_count = 0;
  int channels = 0, classes = 0;  // the table has `classes` rows
  bool narrow = true;
  const std::int64_t* index[4] = {};  // [row_count * column_count] each: rows of the table
  const float* bonds = nullptr;       // [row_count * column_count]
};

/// rows [row_count, C], columns [column_count, C], table [classes, C] and bond [C] fp32 -> z [row_count, column_count,
/// C].
void assemble_pair_panel(const PairPanel& panel, const void* rows, const void* columns, const float* table,
                         const float* bond, void* z, void* stream);

/// Blocks that the next function uses, i.e. how many partial sums it leaves; 0 where the table does not fit.
int pair_sum_blocks(const PairPanel& panel);

/// g [row_count, column_count, C] -> partial sums [blocks, classes + 1, C] fp32 over its positions: of g by row of the
/// table, and in the last row of g times the bond. In a fixed order.
void sum_pair_panel(const PairPanel& panel, const void* g, float* partial, void* stream);

}  // namespace cpize::trunk::cuda
