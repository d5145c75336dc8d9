// Matrix tiles of processors with AMX, and the same in plain loops, with which tests run the kernels of this room on
// any processor. Tiles 0 to 3 hold sums in f32, (16, 16), rows of 64 bytes. Tiles 4 and 5 hold A (16, depth) in bf16,
// and 6 and 7 hold B in pairs of the reduction: row k of B has elements 2 k and 2 k + 1 of 16 columns. The depth is 16
// or 32.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "runtime/element.h"

namespace kb::amx {

constexpr int64_t kSide = 16;                // rows and columns of a tile of sums
constexpr int64_t kDepth = 32;               // most elements of a reduction that one multiplication takes
constexpr int64_t kTile = kSide * kSide;     // floats of a tile of sums
constexpr int64_t kInputs = kSide * kDepth;  // elements of a tile of A or of B

// begin() and end() stand around all else. Rows of a tile in memory are `step` bytes apart.
class LoopTiles {
 public:
  void begin(int64_t depth) { depth_ = depth; }
  void end() {}
  template <int kT>
  void clear() {
    std::memset(tiles_[kT], 0, sizeof tiles_[kT]);
  }
  template <int kT>
  void load(const void* from, int64_t step) {
    const int64_t rows = kT < 6 ? kSide : depth_ / 2, bytes = kT == 4 || kT == 5 ? depth_ * 2 : kRow;
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(tiles_[kT] + row * kRow, static_cast<const char*>(from) + row * step, bytes);
  }
  template <int kT>
  void store(void* to, int64_t step) const {
    for (int64_t row = 0; row < kSide; ++row)
      std::memcpy(static_cast<char*>(to) + row * step, tiles_[kT] + row * kRow, kRow);
  }
  // Adds A times B to the sums.
  template <int kSums, int kA, int kB>
  void multiply() {
    float sums[kTile];
    Bf16 a[kInputs], b[kInputs];
    std::memcpy(sums, tiles_[kSums], sizeof sums);
    std::memcpy(a, tiles_[kA], sizeof a);
    std::memcpy(b, tiles_[kB], sizeof b);
    for (int64_t m = 0; m < kSide; ++m) {
      for (int64_t k = 0; k < depth_; ++k) {
        const float factor = a[m * kDepth + k].load();
        for (int64_t n = 0; n < kSide; ++n) sums[m * kSide + n] += factor * b[(k / 2 * kSide + n) * 2 + k % 2].load();
      }
    }
    std::memcpy(tiles_[kSums], sums, sizeof sums);
  }

  // Reads 16 channels of 32 pixels as B, whose pairs are pixels: writes out[pair][channel][2].
  static void pairs(const uint16_t* const pixels[kDepth], int64_t channel, uint16_t* out) {
    for (int64_t p = 0; p < kDepth; ++p)
      for (int64_t c = 0; c < kSide; ++c) out[(p / 2 * kSide + c) * 2 + p % 2] = pixels[p][channel + c];
  }
  // Reads 16 channels of 32 pixels as A: writes out[channel * step + pixel].
  static void transpose(const uint16_t* const pixels[kDepth], int64_t channel, uint16_t* out, int64_t step) {
    for (int64_t p = 0; p < kDepth; ++p)
      for (int64_t c = 0; c < kSide; ++c) out[c * step + p] = pixels[p][channel + c];
  }
  // Rounds 16 sums, to each of which its bias is added.
  static void round(const float* sums, const float* bias, uint16_t* out) {
    for (int64_t c = 0; c < kSide; ++c) {
      Bf16 rounded;
      rounded.store(sums[c] + bias[c]);
      out[c] = rounded.bits;
    }
  }

 private:
  static constexpr int64_t kRow = 64;
  int64_t depth_ = kDepth;
  char tiles_[8][kSide * kRow];
};

#if defined(__x86_64__)

#define KB_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl")]]
#define KB_AVX512_INLINE [[gnu::target("avx512f,avx512bw,avx512vl"), gnu::always_inline]] inline
#define KB_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

// Does as LoopTiles, by the processor's tiles.
class MachineTiles {
 public:
  void begin(int64_t depth) {
    // Intel's manual, volume 1, table 18-8: the palette, and the rows and bytes of a row of each tile.
    struct alignas(64) Config {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    config.row_bytes[4] = config.row_bytes[5] = static_cast<uint16_t>(2 * depth);
    config.rows[6] = config.rows[7] = static_cast<uint8_t>(depth / 2);
    asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
  }
  void end() { asm volatile("tilerelease" ::: "memory"); }
  template <int kT>
  void clear() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kT));
  }
  template <int kT>
  void load(const void* from, int64_t step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(step), "i"(kT) : "memory");
  }
  template <int kT>
  void store(void* to, int64_t step) const {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(step), "i"(kT) : "memory");
  }
  template <int kSums, int kA, int kB>
  void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kA), "i"(kB));
  }

  KB_AVX512 static void pairs(const uint16_t* const pixels[kDepth], int64_t channel, uint16_t* out) {
    for (int64_t pair = 0; pair < kSide; ++pair) write(out + pair * kDepth, one_pair(pixels + 2 * pair, channel));
  }

  // Rows and columns of 16 x 16 pairs change places: first inside of 128 bits, then the quarters of the rows.
  KB_AVX512 static void transpose(const uint16_t* const pixels[kDepth], int64_t channel, uint16_t* out, int64_t step) {
    Words a[kSide], b[kSide];
    for (int64_t pair = 0; pair < kSide; ++pair) a[pair] = one_pair(pixels + 2 * pair, channel);
    for (int64_t r = 0; r < kSide; r += 2) {
      b[r] = KB_PICK(a[r], a[r + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
      b[r + 1] = KB_PICK(a[r], a[r + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    for (int64_t r = 0; r < kSide; r += 4) {
      for (const int64_t half : {0, 1}) {
        const Words low = b[r + half], high = b[r + 2 + half];
        a[r + 2 * half] = KB_PICK(low, high, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
        a[r + 2 * half + 1] = KB_PICK(low, high, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
      }
    }
    for (int64_t c = 0; c < 4; ++c) {
      for (const int64_t odd : {0, 1}) {
        const Words left = odd ? odd_quarters(a[c], a[4 + c]) : even_quarters(a[c], a[4 + c]),
                    right = odd ? odd_quarters(a[8 + c], a[12 + c]) : even_quarters(a[8 + c], a[12 + c]);
        write(out + (4 * odd + c) * step, even_quarters(left, right));
        write(out + (4 * odd + 8 + c) * step, odd_quarters(left, right));
      }
    }
  }

  KB_AVX512 static void round(const float* sums, const float* bias, uint16_t* out) {
    Floats values, added;
    std::memcpy(&values, sums, sizeof values);
    std::memcpy(&added, bias, sizeof added);
    values += added;
    Words bits;
    std::memcpy(&bits, &values, sizeof bits);
    const Words rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;
    const Halves halves = __builtin_convertvector(values == values ? rounded : nan, Halves);
    std::memcpy(out, &halves, sizeof halves);
  }

 private:
  using Floats [[gnu::vector_size(64)]] = float;
  using Words [[gnu::vector_size(64)]] = uint32_t;
  using Halves [[gnu::vector_size(32)]] = uint16_t;

  KB_AVX512_INLINE static Words widened(const uint16_t* from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return __builtin_convertvector(halves, Words);
  }
  KB_AVX512_INLINE static Words one_pair(const uint16_t* const pixels[2], int64_t channel) {
    return widened(pixels[0] + channel) | widened(pixels[1] + channel) << 16;
  }
  KB_AVX512_INLINE static Words even_quarters(Words a, Words b) {
    return KB_PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  }
  KB_AVX512_INLINE static Words odd_quarters(Words a, Words b) {
    return KB_PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  }
  KB_AVX512_INLINE static void write(uint16_t* out, Words words) { std::memcpy(out, &words, sizeof words); }
};

#undef KB_PICK

#else

using MachineTiles = LoopTiles;

#endif

}  // namespace kb::amx
