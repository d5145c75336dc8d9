#include "data/content_hash.h"

#include <bit>
#include <cstring>

#include "data/hash_random.h"

namespace kb {

uint64_t content_hash(uint64_t key, const void* data, size_t size) {
  static_assert(std::endian::native == std::endian::little, "words are read in memory order");
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t h = hash_words(key, size);
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    h = mix64(h ^ word) + 0x9e3779b97f4a7c15u;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes, size);
  return mix64(h ^ tail);
}

}  // namespace kb
