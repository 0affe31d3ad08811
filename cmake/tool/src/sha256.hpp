// SHA-256 (FIPS 180-4), so that the tool links no cryptography library and starts in milliseconds.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cpize::tool {

class Sha256 {
 public:
  /// Appends raw bytes.
  void add(std::string_view bytes);
  /// Appends a field with its length in front: two lists of fields never give the same byte stream.
  void add_field(std::string_view field);
  /// Finishes; 64 hexadecimal digits. The object must not be used afterwards.
  std::string hex();

 private:
  void block(const unsigned char* p);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> buffer_{};
  std::size_t used_ = 0;
  std::uint64_t length_ = 0;
};

std::string sha256(std::string_view bytes);

}  // namespace cpize::tool
