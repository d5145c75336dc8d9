#include "data/content_hash.h"

#include <bit>
#include <cstring>

#include "data/hash_random.h"

namespace kb {

namespace {

// The number of chains that are computed side by side: one chain alone would wait for its multiplications.
constexpr size_t kLanes = 8;

/// Mixes one word into each lane. This is a bijection of the lane for each word, and of the word for each lane.
void absorb(uint64_t (&lanes)[kLanes], const unsigned char* block) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    uint64_t word;
    std::memcpy(&word, block + 8 * lane, 8);
    const uint64_t h = (lanes[lane] ^ word) * 0x9e3779b97f4a7c15u;
    lanes[lane] = h ^ h >> 32;
  }
}

}  // namespace

uint64_t content_hash(uint64_t key, const void* data, size_t size) {
  static_assert(std::endian::native == std::endian::little, "words are read in memory order");
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t h = hash_words(key, size);
  uint64_t lanes[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = hash_words(h, lane);
  constexpr size_t kBlock = 8 * kLanes;
  for (; size >= kBlock; bytes += kBlock, size -= kBlock) absorb(lanes, bytes);
  unsigned char rest[kBlock] = {};
  if (size > 0) std::memcpy(rest, bytes, size);
  absorb(lanes, rest);
  for (const uint64_t lane : lanes) h = hash_words(h, lane);
  return h;
}

}  // namespace kb
