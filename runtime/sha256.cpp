#include "runtime/sha256.h"

namespace kb {

void Sha256::update(const void* data, size_t bytes) {
  sha256_update(&state_, bytes, static_cast<const uint8_t*>(data));
}

void Sha256::update_field(std::string_view text) {
  uint8_t size[8];
  for (size_t i = 0; i < sizeof size; ++i) size[i] = static_cast<uint8_t>(uint64_t{text.size()} >> (56 - 8 * i));
  update(size, sizeof size);
  update(text);
}

Sha256::Digest Sha256::digest() const {
  sha256_ctx last = state_;  // making the digest changes the copy
  Digest digest;
  sha256_digest(&last, digest.size(), digest.data());
  return digest;
}

std::string Sha256::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest()) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}

}  // namespace kb
