#include "lifecycle/fingerprint.hpp"

#include <ATen/ATen.h>

#include <cstdio>
#include <cstring>

namespace cpize::lifecycle {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014) on `x` plus its increment: a bijection of 64-bit words.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t absorb(std::uint64_t state, const void* data, std::size_t bytes) {
  const auto* cursor = static_cast<const char*>(data);
  std::uint64_t word = 0;
  for (; bytes >= sizeof word; bytes -= sizeof word, cursor += sizeof word) {
    std::memcpy(&word, cursor, sizeof word);
    state = splitmix64(state ^ word);
  }
  word = bytes;  // the length of the tail, so that trailing zeros count
  state = splitmix64(state ^ word);
  word = 0;
  std::memcpy(&word, cursor, bytes);
  return splitmix64(state ^ word);
}

}  // namespace

std::uint64_t fingerprint(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor data = tensor.detach().cpu().contiguous();
  std::uint64_t state = absorb(0, name.data(), name.size());
  const auto dtype = static_cast<std::int64_t>(data.scalar_type());
  state = absorb(state, &dtype, sizeof dtype);
  state = absorb(state, data.sizes().data(), data.sizes().size() * sizeof(std::int64_t));
  return data.nbytes() == 0 ? state : absorb(state, data.const_data_ptr(), data.nbytes());
}

std::uint64_t fingerprint(const Tensors& tensors) {
  std::uint64_t state = tensors.size();
  for (const auto& [name, tensor] : tensors) state = splitmix64(state ^ fingerprint(name, tensor));
  return state;
}

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace cpize::lifecycle
