#include "compiler/print/cuda_warpgroups.h"

#include <fmt/format.h>

#include <string_view>

namespace kb {
namespace {

constexpr int kMostProductColumns = 128, kColumnUnit = 16;  // columns of a product by one warpgroup

constexpr std::string_view kWarpgroupOrder = R"(
// Lets products of warpgroups see what this thread wrote to shared memory, once a barrier follows.
KB_INLINE void show_tensor_cores() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }
// Keeps the compiler from moving uses of sums over this place.
template <int N>
KB_INLINE void pin(float (&d)[N][4]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3]) : : "memory");
}
// Stands before the products of a warpgroup that add to sums, behind other uses of the sums.
template <int N>
KB_INLINE void warpgroup_begin(float (&d)[N][4]) {
  pin(d);
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
// Waits until the products of the warpgroup are done.
template <int N>
KB_INLINE void warpgroup_end(float (&d)[N][4]) {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
  pin(d);
}
// d += a * b of a 64x16 matrix and one of 16 rows, by the four warps of a warpgroup. a and b are descriptors of matrices
// in shared memory; a transposed one lies by rows of the depth. Warp w holds rows 16 * w to 16 * w + 15 of d, and with
// g = l / 4 and t = 2 * (l % 4) its lane l in d[j][i] the element in row g + 8 * (i / 2) and column 8 * j + t + i % 2.
)";

// Returns text(0), text(1) ... text(count - 1), separated by commas.
template <class Text>
std::string listed(int count, const Text& text) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + text(i);
  return list;
}

std::string multiply_add(std::string_view type, int columns) {
  const int sums = columns / 2;  // a lane has so many
  return fmt::format(
      "template <bool TransposedA, bool TransposedB>\n"
      "KB_INLINE void warpgroup_multiply_add(float (&d)[{0}][4], u64 a, u64 b, {1}) {{\n"
      "  asm volatile(\n"
      "      \"{{ .reg .pred p; setp.eq.u32 p, 0, 0;\"\n"
      "      \" wgmma.mma_async.sync.aligned.m64n{2}k16.f32.{1}.{1} {{{3}}}, %{4}, %{5}, p, 1, 1, %{6}, %{7}; }}\"\n"
      "      : {8}\n"
      "      : \"l\"(a), \"l\"(b), \"n\"(TransposedA ? 1 : 0), \"n\"(TransposedB ? 1 : 0)\n"
      "      : \"memory\");\n"
      "}}\n",
      columns / 8, type, columns, listed(sums, [](int i) { return fmt::format("%{}", i); }), sums, sums + 1, sums + 2,
      sums + 3, listed(sums, [](int i) { return fmt::format("\"+f\"(d[{}][{}])", i / 4, i % 4); }));
}

}  // namespace

std::string warpgroup_instructions() {
  std::string text(kWarpgroupOrder);
  for (const std::string_view type : {"bf16", "f16"})
    for (int columns = kColumnUnit; columns <= kMostProductColumns; columns += kColumnUnit)
      text += multiply_add(type, columns);
  return text;
}

}  // namespace kb
