#include "random/stream.hpp"

#include <utility>

#include "error/error.hpp"

namespace cpize::random {
namespace {

/// FNV-1a, 64 bits.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

Stream::Stream(std::uint64_t seed, std::string name, std::uint64_t step)
    : seed_(seed), step_(step), name_(std::move(name)) {}

Stream Stream::child(const std::string& name) const {
  if (name.empty()) throw ContractError("a stream below '" + name_ + "' needs a name of its own");
  return Stream(seed_, name_.empty() ? name : name_ + "." + name, step_);
}

Stream Stream::at_step(std::uint64_t step) const { return Stream(seed_, name_, step); }

StreamKey Stream::key() const {
  const std::uint64_t hash = hash_of(name_);
  const PhiloxWords words = philox4x32({{low(hash), high(hash), 0, 0}}, {{low(seed_), high(seed_)}});
  return {{{words.word[0], words.word[1]}}, step_};
}

}  // namespace cpize::random
