// Checks that every communicator must pass, as one rank sees them: all ranks run them at the same time. A function that
// returns a text says what is wrong; the text is empty if nothing is.
#pragma once
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb::test {

inline constexpr DType kSummed[] = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::u32};

using Bytes = std::vector<std::byte>;

// Returns the array that `rank` gives to the reduction of this number: values of very different sizes, infinities and
// NaNs among them.
Bytes contribution(DType dtype, int64_t elements, int rank, int reduction);

// Returns the sum over `ranks` ranks from `first` on, each `stride` after the one before, in the order of the tree that
// enum Algorithm defines.
Bytes tree_sum(DType dtype, int64_t elements, int first, int ranks, int reduction, int stride = 1);

// Returns a text about the first element that differs, or "". Any two NaNs are equal.
std::string difference(DType dtype, const Bytes& expected, const Bytes& got);
// Returns a text about the first element that is further off than a sum in another order may be, or "".
std::string distance(DType dtype, int64_t elements, int ranks, int reduction, const Bytes& got);

// Sums arrays of 0, 1, 2, 3, 13, 1009 and `large` elements of every dtype, many at a time, with gathers and barriers
// between them. Bits are compared if the algorithm is exact; it then also sums among neighbours, and among every second
// rank, if the number of ranks is even.
std::string conforms(Communicator& communicator, Algorithm algorithm, int64_t large);

// Returns the traffic of one reduction by the formulas of struct Traffic.
Traffic expected_traffic(Algorithm algorithm, int64_t elements, int64_t element_bytes, int rank, int ranks);

}  // namespace kb::test
