#include "lifecycle/counter_random.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"

namespace cpize::lifecycle {
namespace {

std::uint64_t key_of(std::uint64_t seed, std::string_view name, std::int64_t step) {
  std::uint64_t key = splitmix64(seed);
  for (const char c : name) key = splitmix64(key ^ static_cast<unsigned char>(c));
  return splitmix64(key ^ splitmix64(static_cast<std::uint64_t>(step)));
}

}  // namespace

CounterStream::CounterStream(std::uint64_t seed, std::string_view name, std::int64_t step)
    : key_(key_of(seed, name, step)) {}

at::Tensor CounterStream::uniform(const Shape& global, const Box& box) const {
  const std::size_t dims = global.size();
  if (box.low.size() != dims)
    throw ContractError("uniform: box " + box.str() + " has other dimensions than the tensor");
  at::Tensor out = at::empty(box.size, at::kDouble);
  if (out.numel() == 0) return out;
  auto* values = out.data_ptr<double>();
  Shape position(box.low);
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < dims; ++d) index = index * global[d] + position[d];
    values[i] = element(index);
    for (std::size_t d = dims; d-- > 0;) {
      if (++position[d] < box.low[d] + box.size[d]) break;
      position[d] = box.low[d];
    }
  }
  return out;
}

at::Tensor CounterStream::uniform(const Shape& global) const {
  return uniform(global, Box{Shape(global.size(), 0), global});
}

}  // namespace cpize::lifecycle
