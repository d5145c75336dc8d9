// How scatter_add cuts the sorted positions of its updates into ranges: the first half of its sums is within a range.
#pragma once
#include <cstdint>

namespace kb {

// Returns the length of the ranges of M updates: the least power of two that is 16 or more and at least half of M's
// square root. So M / length ranges, of which one row may need all, are at most four times as many as a range has
// updates; the number of ranges depends on M alone, and so do the bits of a sum.
constexpr int64_t scatter_range(int64_t updates) {
  int64_t length = 16;
  while (4 * length * length < updates) length *= 2;
  return length;
}

}  // namespace kb
