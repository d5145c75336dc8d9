// The part of the prelude of CUDA C++ that multiplies matrices, by the functions of cuda_instructions().
#pragma once
#include <string_view>

namespace kb {

// In a warp lane 4 * g + t holds, of a product of 16 x 16 by 16 x 8, the sums (g, 2t), (g, 2t + 1), (g + 8, 2t) and
// (g + 8, 2t + 1). One load_matrices gives a warp's 16 x 16 of A, or the 16 x 8 of B for two products: lane 8 * i + j
// names row j of 8 x 8 matrix i.
inline constexpr std::string_view kCudaTiles = R"(
// Sums of Rows x Columns in the registers of a block, whose warps share them in a grid of Down x Across.
template <int Rows, int Columns, int Down, int Across>
struct Accumulators {
  static constexpr int kRows = Rows / Down, kColumns = Columns / Across, kAcross = Across;
  float at[kRows / 16][kColumns / 8][4] = {};
};
// These return the first row and column of a warp's part.
template <class A>
KB_INLINE int first_row(const A&) {
  return (int)threadIdx.x / 32 / A::kAcross * A::kRows;
}
template <class A>
KB_INLINE int first_column(const A&) {
  return (int)threadIdx.x / 32 % A::kAcross * A::kColumns;
}
// Copies Rows x Columns elements, of which `rows` x `columns` are there; the others become zeros.
template <int Rows, int Columns, int Pitch, int Threads, class T, class I>
KB_INLINE void tile_copy(T* to, const T* from, I pitch, I rows, I columns) {
  constexpr int kVectors = Columns / 8;
#pragma unroll
  for (int first = 0; first < Rows * kVectors; first += Threads) {
    const int i = first + (int)threadIdx.x, r = i / kVectors, c = i % kVectors * 8;
    if (Rows * kVectors % Threads != 0 && i >= Rows * kVectors) break;
    const bool there = r < rows && c < columns;
    copy_async(to + r * Pitch + c, there ? from + r * pitch + c : from, there);
  }
}
template <int Depth, int PitchA, bool TransposedA, int PitchB, bool TransposedB, class A, class T>
KB_INLINE void tile_mma(A& sums, const T* a, const T* b) {
  constexpr int kM = A::kRows / 16, kN = A::kColumns / 8;
  const int lane = (int)threadIdx.x % 32, j = lane % 8, low = lane / 8 % 2 * 8, high = lane / 16 * 8;
  const int m = first_row(sums), n = first_column(sums);
#pragma unroll
  for (int k = 0; k < Depth; k += 16) {
    u32 x[kM][4], y[kN / 2][4];
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      if (TransposedA)
        load_matrices_transposed(x[i], a + (k + high + j) * PitchA + m + 16 * i + low);
      else
        load_matrices(x[i], a + (m + 16 * i + low + j) * PitchA + k + high);
    }
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) {
      if (TransposedB)
        load_matrices_transposed(y[i], b + (k + low + j) * PitchB + n + 16 * i + high);
      else
        load_matrices(y[i], b + (n + 16 * i + high + j) * PitchB + k + low);
    }
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int l = 0; l < kN; ++l) {
        const u32 column[2] = {y[l / 2][l % 2 * 2], y[l / 2][l % 2 * 2 + 1]};
        multiply_add(sums.at[i][l], x[i], column, T());
      }
  }
}
KB_INLINE void narrow(bf16& to, float x) { to = round_bf16(x); }
KB_INLINE void narrow(f16& to, float x) { to = round_f16(x); }
KB_INLINE void narrow(float& to, float x) { to = x; }
template <int Pitch, class A, class T>
KB_INLINE void tile_store(T* to, const A& sums) {
  const int lane = (int)threadIdx.x % 32, row = first_row(sums) + lane / 4, column = first_column(sums) + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < A::kRows / 16; ++i)
#pragma unroll
    for (int l = 0; l < A::kColumns / 8; ++l)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        T two[2];
        narrow(two[0], sums.at[i][l][2 * half]);
        narrow(two[1], sums.at[i][l][2 * half + 1]);
        store(to + (row + 16 * i + 8 * half) * Pitch + column + 8 * l, two);
      }
}
)";

}  // namespace kb
