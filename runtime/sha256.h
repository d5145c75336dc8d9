// SHA-256 (FIPS 180-4), fed piece by piece: names kernels in the cache, checks entries and files, and gives a run's
// `state_sha256`. Copying a half-fed object and feeding the copies differently is allowed: a shared prefix costs once.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kb {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  void update(const void* data, size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // A length and then the text: two different lists of fields never feed the same bytes.
  void update_field(std::string_view text);

  // Gives the hash of all bytes fed so far; the object goes on unchanged and may be fed more.
  Digest digest() const;
  std::string hex() const;

 private:
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  uint64_t bytes_ = 0;  // fed in all; the last `bytes_ % 64` of them wait in pending_
};

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace kb
