// SHA-256 (FIPS 180-4) by nettle, which takes the processor's own instructions for it, fed piece by piece: names
// kernels in the cache, checks entries and files, and gives a run's `state_sha256`. Copying a half-fed object and
// feeding the copies differently is allowed: a shared prefix costs once.
#pragma once
#include <nettle/sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kb {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, SHA256_DIGEST_SIZE>;

  Sha256() { sha256_init(&state_); }

  void update(const void* data, size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // A length and then the text: two different lists of fields never feed the same bytes.
  void update_field(std::string_view text);

  // Gives the hash of all bytes fed so far; the object goes on unchanged and may be fed more.
  Digest digest() const;
  std::string hex() const;

 private:
  sha256_ctx state_;
};

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace kb
