// The part of the prelude of CUDA C++ that multiplies matrices, by the functions of cuda_instructions().
#pragma once
#include <string_view>

namespace kb {

// In a warp lane 4 * g + t holds, of a product of 16 x 16 by 16 x 8, the sums (g, 2t), (g, 2t + 1), (g + 8, 2t) and
// (g + 8, 2t + 1). One load_matrices gives a warp's 16 x 16 of A, or the 16 x 8 of B for two products: lane 8 * i + j
// names row j of 8 x 8 matrix i. A warpgroup's product of 64 rows has the same layout in each of its warps, which have
// 16 rows each.
inline constexpr std::string_view kCudaTiles = R"(
// A matrix in shared memory lies in panels of Panel columns, one behind the other, a panel by rows. In a panel, groups
// of 8 elements are exchanged by the bits of their place from 128 bytes on, so that eight rows of a group lie in other
// banks: the layout that PTX calls 128, 64 or 32 byte swizzling, for panels of 64, 32 or 16 columns.
template <int Rows, int Columns, int Panel>
struct Matrix {
  static constexpr int kRows = Rows, kColumns = Columns, kPanel = Panel, kElements = Rows * Columns;
  static constexpr int kPanelElements = Rows * Panel;
};
template <class M>
KB_INLINE int place(int row, int column) {
  const int at = row * M::kPanel + column % M::kPanel;
  return column / M::kPanel * M::kPanelElements + (at ^ (at >> 6 & (M::kPanel / 8 - 1)) << 3);
}
// Sums of Rows x Columns in the registers of a block, whose warps share them in a grid of Down x Across.
template <int Rows, int Columns, int Down, int Across>
struct Accumulators {
  static constexpr int kRows = Rows / Down, kColumns = Columns / Across, kDown = Down;
  float at[kRows / 16][kColumns / 8][4] = {};
};
// These return the first row and column of a warp's part.
template <class A>
KB_INLINE int first_row(const A&) {
  return (int)threadIdx.x / 32 % A::kDown * A::kRows;
}
template <class A>
KB_INLINE int first_column(const A&) {
  return (int)threadIdx.x / 32 / A::kDown * A::kColumns;
}
// Copies a matrix of which `rows` x `columns` elements are there; the others become zeros.
template <class M, int Threads, class T, class I>
KB_INLINE void tile_copy(T* to, const T* from, I pitch, I rows, I columns) {
  constexpr int kVectors = M::kColumns / 8;
#pragma unroll
  for (int first = 0; first < M::kRows * kVectors; first += Threads) {
    const int i = first + (int)threadIdx.x, r = i / kVectors, c = i % kVectors * 8;
    if (M::kRows * kVectors % Threads != 0 && i >= M::kRows * kVectors) break;
    const bool there = r < rows && c < columns;
    copy_async(to + place<M>(r, c), there ? from + r * pitch + c : from, there);
  }
}
template <class MA, bool TransposedA, class MB, bool TransposedB, class A, class T>
KB_INLINE void tile_mma(A& sums, const T* a, const T* b) {
  constexpr int kM = A::kRows / 16, kN = A::kColumns / 8;
  const int lane = (int)threadIdx.x % 32, j = lane % 8, low = lane / 8 % 2 * 8, high = lane / 16 * 8;
  const int m = first_row(sums), n = first_column(sums);
#pragma unroll
  for (int k = 0; k < (TransposedA ? MA::kRows : MA::kColumns); k += 16) {
    u32 x[kM][4], y[kN / 2][4];
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      if (TransposedA)
        load_matrices_transposed(x[i], a + place<MA>(k + high + j, m + 16 * i + low));
      else
        load_matrices(x[i], a + place<MA>(m + 16 * i + low + j, k + high));
    }
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) {
      if (TransposedB)
        load_matrices_transposed(y[i], b + place<MB>(k + low + j, n + 16 * i + high));
      else
        load_matrices(y[i], b + place<MB>(n + 16 * i + high + j, k + low));
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
// Returns the descriptor of the first 16 elements of the depth of the rows from `first` on; of a transposed matrix, of
// the columns from `first` on. Bits 0 to 13 hold the address, 16 to 29 the distance to the next panel (of a transposed
// matrix; else it is not used), 32 to 45 the distance to the next eight rows, all in units of 16 bytes; 62 and 63 the
// swizzling (1: 128 bytes, 2: 64, 3: 32). PTX ISA 8.0, "Matrix Descriptor Format" of wgmma.
template <class M, bool Transposed, class T>
KB_INLINE u64 descriptor(const T* at, int first) {
  constexpr u64 kSwizzle = M::kPanel == 64 ? 1 : M::kPanel == 32 ? 2 : 3;
  constexpr u64 kNextPanel = Transposed ? 2 * M::kPanelElements / 16 : 1, kNextRows = 8 * 2 * M::kPanel / 16;
  const int place = Transposed ? first / M::kPanel * M::kPanelElements : first * M::kPanel;
  return (u64)((shared_address(at + place) & 0x3ffff) >> 4) | kNextPanel << 16 | kNextRows << 32 | kSwizzle << 62;
}
// Returns, of a descriptor of the first 16 elements of the depth, that of those from k on: only its address differs,
// which has 14 of the low 32 bits.
template <class M, bool Transposed>
KB_INLINE u64 from_depth(u64 first, int k) {
  const int place = Transposed ? k * M::kPanel : k / M::kPanel * M::kPanelElements + k % M::kPanel;
  return first >> 32 << 32 | (u32)first + (u32)(2 * place / 16);
}
// Does what tile_mma does, by warpgroups.
template <class MA, bool TransposedA, class MB, bool TransposedB, class A, class T>
KB_INLINE void warpgroup_mma(A& sums, const T* a, const T* b) {
  const u64 x = descriptor<MA, TransposedA>(a, first_row(sums) / 64 * 64);
  const u64 y = descriptor<MB, TransposedB>(b, first_column(sums));
  warpgroup_begin(sums.at[0]);
#pragma unroll
  for (int k = 0; k < (TransposedA ? MA::kRows : MA::kColumns); k += 16)
    warpgroup_multiply_add<TransposedA, TransposedB>(sums.at[0], from_depth<MA, TransposedA>(x, k),
                                                     from_depth<MB, TransposedB>(y, k), T());
  warpgroup_end(sums.at[0]);
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
