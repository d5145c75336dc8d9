#include "runtime/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kb {
namespace {

// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t load_big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

template <typename Word>
void store_big_endian(Word word, uint8_t* p) {
  for (size_t i = 0; i < sizeof(Word); ++i) p[i] = static_cast<uint8_t>(word >> (8 * (sizeof(Word) - 1 - i)));
}

// FIPS 180-4, 6.2.2 step 1.
std::array<uint32_t, 64> message_schedule(const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (size_t t = 0; t < 16; ++t) w[t] = load_big_endian(block + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  return w;
}

}  // namespace

// FIPS 180-4, 6.2.2 steps 2 to 4.
void Sha256::compress(const uint8_t* block) {
  const std::array<uint32_t, 64> w = message_schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> next = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += next[i];
}

void Sha256::update(const void* data, size_t bytes) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const size_t held = bytes_ % 64;
    if (held == 0 && bytes >= 64) {
      compress(p);
      p += 64, bytes -= 64, bytes_ += 64;
      continue;
    }
    const size_t taken = std::min(bytes, 64 - held);
    std::memcpy(pending_.data() + held, p, taken);
    p += taken, bytes -= taken, bytes_ += taken;
    if (bytes_ % 64 == 0) compress(pending_.data());
  }
}

void Sha256::update_field(std::string_view text) {
  uint8_t size[8];
  store_big_endian(uint64_t{text.size()}, size);
  update(size, sizeof size);
  update(text);
}

Sha256::Digest Sha256::digest() const {
  Sha256 last = *this;
  uint8_t padding[72] = {0x80};  // FIPS 180-4, 5.1.1: one bit, zeros, the length in bits
  const size_t zeros_end = (bytes_ % 64 < 56 ? 56 : 120) - bytes_ % 64;
  store_big_endian(bytes_ * 8, padding + zeros_end);
  last.update(padding, zeros_end + 8);
  Digest digest;
  for (size_t i = 0; i < 8; ++i) store_big_endian(last.state_[i], digest.data() + 4 * i);
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
