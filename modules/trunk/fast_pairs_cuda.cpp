#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "trunk/cuda/pair_assembly_kernels.hpp"
#include "trunk/fast_pairs.hpp"

namespace cpize::trunk {
namespace {

void* stream() { return c10::cuda::getCurrentCUDAStream(); }

cuda::PairPanel panel_of(const at::Tensor& z, std::int64_t classes) {
  cuda::PairPanel p;
  p.row_count = z.size(0);
  p.column_count = z.size(1);
  p.channels = static_cast<int>(z.size(2));
  p.classes = static_cast<int>(classes);
  p.narrow = z.scalar_type() == at::kBFloat16;
  return p;
}

void set_positions(cuda::PairPanel& p, at::TensorList index, const at::Tensor& bonds) {
  for (std::size_t k = 0; k < index.size(); ++k) p.index[k] = index[k].data_ptr<std::int64_t>();
  p.bonds = bonds.data_ptr<float>();
}

}  // namespace

bool fast_pairs(const at::Tensor& pairs, std::int64_t classes) {
  const std::int64_t channels = pairs.size(-1);
  if (!pairs.is_cuda() || channels % 32 != 0 || channels > 256 ||
      (pairs.scalar_type() != at::kBFloat16 && pairs.scalar_type() != at::kFloat))
    return false;
  const c10::cuda::CUDAGuard guard(pairs.device());
  return cuda::pair_sum_blocks(panel_of(pairs.dim() == 4 ? pairs.select(0, 0) : pairs, classes)) > 0;
}

void fast_assemble(const at::Tensor& rows, const at::Tensor& columns, const at::Tensor& table, const at::Tensor& bond,
                   at::TensorList index, const at::Tensor& bonds, const at::Tensor& z) {
  const c10::cuda::CUDAGuard guard(z.device());
  const at::Tensor r = rows.contiguous(), c = columns.contiguous(), b = bonds.to(at::kFloat).contiguous();
  const at::Tensor t = table.contiguous(), w = bond.contiguous();
  cuda::PairPanel p = panel_of(z, table.size(0));
  set_positions(p, index, b);
  cuda::assemble_pair_panel(p, r.data_ptr(), c.data_ptr(), t.data_ptr<float>(), w.data_ptr<float>(), z.data_ptr(),
                            stream());
}

void fast_pair_sums(const at::Tensor& g, at::TensorList index, const at::Tensor& bonds, const at::Tensor& table_total,
                    const at::Tensor& bond_total) {
  const c10::cuda::CUDAGuard guard(g.device());
  const std::int64_t classes = table_total.size(0);
  const at::Tensor x = g.contiguous(), b = bonds.to(at::kFloat).contiguous();
  cuda::PairPanel p = panel_of(x, classes);
  set_positions(p, index, b);
  const at::Tensor partial =
      at::empty({cuda::pair_sum_blocks(p), classes + 1, x.size(2)}, x.options().dtype(at::kFloat));
  cuda::sum_pair_panel(p, x.data_ptr(), partial.data_ptr<float>(), stream());
  const at::Tensor sums = partial.sum(0);
  at::Tensor of_table = table_total, of_bond = bond_total;
  of_table.add_(sums.narrow(0, 0, classes));
  of_bond.add_(sums[classes]);
}

}  // namespace cpize::trunk
