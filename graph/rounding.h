// Rounds whole numbers up: ceil_div gives how many parts of `size` cover an extent, round_up the next multiple of
// `size`.
#pragma once
#include <cstdint>

namespace kb {

constexpr int64_t ceil_div(int64_t extent, int64_t size) { return (extent + size - 1) / size; }
constexpr int64_t round_up(int64_t extent, int64_t size) { return ceil_div(extent, size) * size; }

}  // namespace kb
