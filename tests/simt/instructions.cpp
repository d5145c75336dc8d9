// C++ in place of the functions that are written in PTX. Matrix instructions of a warp hand whole registers from lane
// to lane, so their emulation is an exchange of what all lanes hold, of which each lane takes its part.
#include "compiler/print/cuda.h"
#include "tests/simt/prelude.h"

namespace kb::simt {
namespace {

// The text may use the functions that stand before it: types, emulation_prelude() and kSharedPrelude. Names of PTX's
// fragments are as in the comments of cuda_instructions(). The functions that are not watched (SIMT_PLAIN) touch
// registers only.
constexpr std::string_view kInstructions = R"(
KB_INLINE u16 narrow_bf16(float x) { return x != x ? 0x7fff : (u16)(round_high(x) >> 16); }
KB_INLINE u16 narrow_f16(float x) { return x != x ? 0x7fff : (u16)f16_bits(x); }
KB_INLINE float widen(f16 x) { return f16_real(x.bits); }
KB_INLINE int choose(bool c, int x, int y) { return c ? x : y; }

KB_INLINE void copy_async(void* to, const void* from, bool there) { simt_unit.hooks->copy(to, from, there); }
KB_INLINE void copies_end() { simt_unit.hooks->end_copies(); }
template <int N>
KB_INLINE void copies_wait() {
  simt_unit.hooks->wait_copies(N);
}

template <u32 N>
SIMT_PLAIN KB_INLINE void simt_gather(u32 line, const u32 (&given)[N], u32 (&all)[32][N]) {
  simt_unit.hooks->exchange(0xffffffffu, line, N / 2, (const simt_u64*)given, (simt_u64*)all);
}
struct alignas(16) simt_row { u32 at[4]; };
KB_INLINE simt_row simt_row_at(const void* row) { return *(const simt_row*)row; }
SIMT_PLAIN KB_INLINE void load_matrices(u32 (&r)[4], const void* row, u32 line = __builtin_LINE()) {
  const simt_row own = simt_row_at(row);
  alignas(8) u32 rows[32][4];
  simt_gather(line, own.at, rows);
  const u32 lane = simt_lane();
  for (u32 i = 0; i < 4; ++i) r[i] = rows[8 * i + lane / 4][lane % 4];
}
SIMT_PLAIN KB_INLINE void load_matrices_transposed(u32 (&r)[4], const void* row, u32 line = __builtin_LINE()) {
  const simt_row own = simt_row_at(row);
  alignas(8) u32 rows[32][4];
  simt_gather(line, own.at, rows);
  const u32 column = simt_lane() / 4, first = simt_lane() % 4 * 2;
  for (u32 i = 0; i < 4; ++i) {
    const u16 *low = (const u16*)rows[8 * i + first], *high = (const u16*)rows[8 * i + first + 1];
    r[i] = low[column] | (u32)high[column] << 16;
  }
}

KB_INLINE float simt_real(u32 x, bf16) { return real(x << 16); }
KB_INLINE float simt_real(u32 x, f16) { return f16_real(x & 0xffff); }
template <class T>
SIMT_PLAIN KB_INLINE void simt_reals(double (&x)[16], u32 k, u32 pair, T type) {
  x[k] = simt_real(pair & 0xffff, type);
  x[k + 1] = simt_real(pair >> 16, type);
}
// A product of two elements is exact in double. An element of d is summed in double, d first and then the products in
// the order of k, and is rounded once. (A GPU adds in an order and to a precision of its own.)
template <class T>
SIMT_PLAIN KB_INLINE void multiply_add(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], T type,
                                       u32 line = __builtin_LINE()) {
  alignas(8) const u32 own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  alignas(8) u32 all[32][6];
  simt_gather(line, own, all);
  const u32 g = simt_lane() / 4, t = simt_lane() % 4 * 2;
  double rows[2][16], columns[2][16];  // those of a and b that meet in the lane's elements of d
  for (u32 k = 0; k < 16; k += 2)
    for (u32 i = 0; i < 2; ++i) {
      simt_reals(rows[i], k, all[4 * g + k % 8 / 2][i + k / 8 * 2], type);
      simt_reals(columns[i], k, all[4 * (t + i) + k % 8 / 2][4 + k / 8], type);
    }
  for (u32 i = 0; i < 4; ++i) {
    double sum = d[i];
    for (u32 k = 0; k < 16; ++k) sum += rows[i / 2][k] * columns[i % 2][k];
    d[i] = (float)sum;
  }
}

KB_INLINE u32 shared_address(const void* p) { return simt_unit.hooks->shared_address(p); }
KB_INLINE void show_tensor_cores() { simt_unit.hooks->show_tensor_cores(); }
// All lanes of a warp execute each of these together.
template <int N>
KB_INLINE void warpgroup_begin(float (&d)[N][4], u32 line = __builtin_LINE()) {
  simt_unit.hooks->exchange(0xffffffffu, line, 0, nullptr, nullptr);
  simt_unit.hooks->begin_products(d[0], 4 * N);
}
KB_INLINE u32 simt_kind(bf16) { return 0; }
KB_INLINE u32 simt_kind(f16) { return 4; }
template <bool TransposedA, bool TransposedB, int N, class T>
KB_INLINE void warpgroup_multiply_add(float (&d)[N][4], u64 a, u64 b, T type, u32 line = __builtin_LINE()) {
  simt_unit.hooks->exchange(0xffffffffu, line, 0, nullptr, nullptr);
  simt_unit.hooks->multiply(d[0], 8 * N, a, b, TransposedA | TransposedB << 1 | simt_kind(type));
}
template <int N>
KB_INLINE void warpgroup_end(float (&)[N][4], u32 line = __builtin_LINE()) {
  simt_unit.hooks->exchange(0xffffffffu, line, 0, nullptr, nullptr);
  simt_unit.hooks->end_products();
}
)";

}  // namespace

std::string without_ptx(std::string prelude) {
  const std::string ptx = cuda_instructions();
  if (const size_t at = prelude.find(ptx); at != std::string::npos) prelude.replace(at, ptx.size(), kInstructions);
  return prelude;
}

}  // namespace kb::simt
