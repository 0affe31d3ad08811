#include "random/fill.hpp"

#include "random/element.hpp"

namespace cpize::random {
namespace {

template <bool normal, class T>
void fill_range(T* out, const StreamKey& key, const StoredBox& box, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  std::int64_t at[StoredBox::max_dims]{}, index = box.base, rest = begin;
  for (int d = box.dims - 1; d >= 0; --d) {
    at[d] = rest % box.size[d];
    rest /= box.size[d];
    index += at[d] * box.stride[d];
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if constexpr (normal)
      normal_of(bits_at(key, index), out[i]);
    else
      uniform_of(bits_at(key, index), out[i]);
    for (int d = box.dims - 1; d >= 0; --d) {  // the next position: carry like an odometer
      index += box.stride[d];
      if (++at[d] < box.size[d]) break;
      index -= at[d] * box.stride[d];
      at[d] = 0;
    }
  }
}

template <class T>
void fill_any(T* out, Distribution distribution, const StreamKey& key, const StoredBox& box, std::int64_t begin,
              std::int64_t end) {
  if (distribution == Distribution::normal)
    fill_range<true>(out, key, box, begin, end);
  else
    fill_range<false>(out, key, box, begin, end);
}

}  // namespace

void fill(float* out, Distribution distribution, const StreamKey& key, const StoredBox& box, std::int64_t begin,
          std::int64_t end) {
  fill_any(out, distribution, key, box, begin, end);
}
void fill(double* out, Distribution distribution, const StreamKey& key, const StoredBox& box, std::int64_t begin,
          std::int64_t end) {
  fill_any(out, distribution, key, box, begin, end);
}

}  // namespace cpize::random
