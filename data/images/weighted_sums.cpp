#include "data/images/weighted_sums.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kb {
namespace {

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

inline uint8_t to_byte(int32_t sum) { return static_cast<uint8_t>(std::min(sum >> kWeightBits, 255)); }

// Writes `count` pixels to `out`, each a weighted sum of pixels of `from`.
void columns_anywhere(const uint8_t* from, const AxisWeights& axis, uint8_t* out) {
  const int32_t* weight = axis.weight.data();
  for (int64_t i = 0; i < std::ssize(axis.start); ++i, weight += axis.taps) {
    const uint8_t* pixels = from + int64_t{4} * axis.start[static_cast<size_t>(i)];
    int32_t sums[4] = {kHalf, kHalf, kHalf, kHalf};
    for (int64_t t = 0; t < axis.taps; ++t)
      for (int64_t c = 0; c < 4; ++c) sums[c] += pixels[4 * t + c] * weight[t];
    for (int64_t c = 0; c < 4; ++c) out[4 * i + c] = to_byte(sums[c]);
  }
}

// Writes `bytes` bytes to `out`, a multiple of kLineBlock, each a weighted sum over `taps` lines of the bytes at its
// place.
void lines_anywhere(const uint8_t* lines, const int32_t* weight, int64_t taps, int64_t bytes, uint8_t* out) {
  for (int64_t at = 0; at < bytes; at += kLineBlock) {
    int32_t sums[kLineBlock];
    std::fill(std::begin(sums), std::end(sums), kHalf);
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = 0; i < kLineBlock; ++i) sums[i] += lines[t * bytes + at + i] * weight[t];
    for (int64_t i = 0; i < kLineBlock; ++i) out[at + i] = to_byte(sums[i]);
  }
}

#if defined(__x86_64__)
// These are the same sums of integers in vectors of 8, so the bits are the same.

[[gnu::target("avx2")]] inline __m256i eight_bytes(const uint8_t* bytes) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
}

// Two pixels of four bytes at a time; the number of taps is even.
[[gnu::target("avx2")]] void columns_avx2(const uint8_t* from, const AxisWeights& axis, uint8_t* out) {
  const __m256i copies = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const __m128i half = _mm_set1_epi32(kHalf);
  const int32_t *weight = axis.weight.data(), *start = axis.start.data();
  const int64_t taps = axis.taps, count = std::ssize(axis.start);
  for (int64_t i = 0; i < count; ++i, weight += taps) {
    const uint8_t* pixels = from + int64_t{4} * start[i];
    __m256i sums = _mm256_setzero_si256();
    for (int64_t t = 0; t < taps; t += 2) {
      const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weight + t));
      const __m256i weights = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(two), copies);
      sums = _mm256_add_epi32(sums, _mm256_mullo_epi32(eight_bytes(pixels + 4 * t), weights));
    }
    const __m128i both = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    const __m128i shares = _mm_srli_epi32(_mm_add_epi32(both, half), kWeightBits);
    const __m128i words = _mm_packs_epi32(shares, shares);
    const int32_t pixel = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    std::memcpy(out + 4 * i, &pixel, sizeof pixel);
  }
}

[[gnu::target("avx2")]] void lines_avx2(const uint8_t* lines, const int32_t* weight, int64_t taps, int64_t bytes,
                                        uint8_t* out) {
  const __m256i half = _mm256_set1_epi32(kHalf);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // of fours of bytes, which packing mixes
  for (int64_t at = 0; at < bytes; at += kLineBlock) {
    __m256i a = half, b = half, c = half, d = half;
    const uint8_t* line = lines + at;
    for (int64_t t = 0; t < taps; ++t, line += bytes) {
      const __m256i share = _mm256_set1_epi32(weight[t]);
      a = _mm256_add_epi32(a, _mm256_mullo_epi32(eight_bytes(line), share));
      b = _mm256_add_epi32(b, _mm256_mullo_epi32(eight_bytes(line + 8), share));
      c = _mm256_add_epi32(c, _mm256_mullo_epi32(eight_bytes(line + 16), share));
      d = _mm256_add_epi32(d, _mm256_mullo_epi32(eight_bytes(line + 24), share));
    }
    const __m256i ab = _mm256_packs_epi32(_mm256_srli_epi32(a, kWeightBits), _mm256_srli_epi32(b, kWeightBits));
    const __m256i cd = _mm256_packs_epi32(_mm256_srli_epi32(c, kWeightBits), _mm256_srli_epi32(d, kWeightBits));
    const __m256i packed = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), packed);
  }
}
#endif

}  // namespace

WeightedSums plain_weighted_sums() { return {columns_anywhere, lines_anywhere}; }

WeightedSums weighted_sums() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return {columns_avx2, lines_avx2};
#endif
  return plain_weighted_sums();
}

}  // namespace kb
