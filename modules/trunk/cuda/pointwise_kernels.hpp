// Pointwise kernels: what blocks do between matrix products, one pass over memory each. Launchers, no torch.
//
// Operands are bf16 unless said otherwise; sums and functions in fp32. Rows of 128 channels for the norms, any even
// width for the gates. Pointers are device memory, rows aligned to 16 bytes; work runs on `stream` (a cudaStream_t).
#pragma once
#include <cstdint>

namespace cpize::trunk::cuda {

/// Layer normalisation of bf16 rows of 128 channels: y = (x - mean) rstd w + b, bf16.
void normalise_rows(const void* x, const float* weight, const float* bias, float epsilon, void* y, std::int64_t rows,
                    void* stream);

/// dx of the above from dy (fp32 rows), bf16; partial sums of dy n and dy over the rows of each block, [blocks, 2, 128]
/// fp32, where n is the standardised row. Returns the number of blocks for `rows`; call with null pointers to ask.
int normalise_rows_backward(const float* dy, const void* x, const float* weight, float epsilon, void* dx,
                            float* partial, std::int64_t rows, void* stream);

/// h = silu(u) v, bf16; h may be u or v.
void gate(const void* u, const void* v, void* h, std::int64_t count, void* stream);

/// du = dh v silu'(u), dv = dh silu(u), h = silu(u) v, bf16; each result may lie in any of the inputs' places.
void gate_backward(const void* u, const void* v, const void* dh, void* du, void* dv, void* h, std::int64_t count,
                   void* stream);

}  // namespace cpize::trunk::cuda
