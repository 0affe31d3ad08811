// Channel order: which channel a column of a matrix fragment stands for where rows are read 16 bytes at a time.
//
// A thread of the fragments holds columns 2t, 2t+1 of every group of 8; rows of a tensor in memory are read and written
// 16 bytes, i.e. 8 channels, at a time. Both fit when logical column L stands for channel channel_of(L): the columns
// that thread t holds in four groups are then channels 32 m + 8 t .. + 7.
#pragma once

#ifdef __CUDACC__
#define CPIZE_HOST_DEVICE __host__ __device__
#else
#define CPIZE_HOST_DEVICE
#endif

namespace cpize::trunk::cuda {

CPIZE_HOST_DEVICE constexpr int channel_of(int column) {
  return 32 * (column / 32) + 8 * ((column % 8) / 2) + 2 * ((column / 8) % 4) + column % 2;
}

}  // namespace cpize::trunk::cuda
