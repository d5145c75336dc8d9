// SHA-256 (FIPS 180-4) by nettle, which uses the processor's instructions for it. Bytes are added piece by piece. It
// names kernels in the cache, checks entries and files, and makes a run's `state_sha256`. An object may be copied and
// the copies be continued differently, so that a shared prefix is hashed once.
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
  // Adds a length and then the text, so that two different lists of fields never add the same bytes.
  void update_field(std::string_view text);

  // Returns the hash of all bytes added so far; more may be added after it.
  Digest digest() const;
  std::string hex() const;

 private:
  sha256_ctx state_;
};

// Returns 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace kb
