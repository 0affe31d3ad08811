#include "serial/distogram.hpp"

namespace cpize::serial {

DistogramModuleImpl::DistogramModuleImpl(int64_t token_z, int64_t num_bins, int64_t num_distograms)
    : num_bins(num_bins),
      num_distograms(num_distograms),
      distogram(register_module("distogram", torch::nn::Linear(token_z, num_distograms * num_bins))) {}

at::Tensor DistogramModuleImpl::forward(const at::Tensor& z) {
  return distogram(z + z.transpose(1, 2)).unflatten(-1, {num_distograms, num_bins});
}

}  // namespace cpize::serial
