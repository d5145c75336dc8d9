// Whole numbers rounded up: the parts of a size that cover an extent, and the next multiple of a size.
#pragma once
#include <cstdint>

namespace kb {

constexpr int64_t ceil_div(int64_t extent, int64_t size) { return (extent + size - 1) / size; }
constexpr int64_t round_up(int64_t extent, int64_t size) { return ceil_div(extent, size) * size; }

}  // namespace kb
