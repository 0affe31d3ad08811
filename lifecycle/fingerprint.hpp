// Fingerprint: 64 bits of the content of tensors, to notice that replicas drifted apart or that a file was damaged.
#pragma once
#include <cstdint>

#include "lifecycle/named_tensors.hpp"

namespace cpize::lifecycle {

/// Of name, dtype, shape and every byte: 0 and -0 differ, and so do NaNs with other bits. Not cryptographic. Reads each
/// byte once on the CPU (a tensor elsewhere is copied).
std::uint64_t fingerprint(const std::string& name, const at::Tensor& tensor);

/// Of all of them, in the order of their names.
std::uint64_t fingerprint(const Tensors& tensors);

/// 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t value);

}  // namespace cpize::lifecycle
