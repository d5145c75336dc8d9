// Checks that every communicator must pass, as one rank sees them: all ranks run them at the same time. Each function
// returns what is wrong, "" where nothing is.
#pragma once
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb::test {

inline constexpr DType kSummed[] = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::u32};

using Bytes = std::vector<std::byte>;

// Returns what `rank` adds to that reduction: numbers of very different sizes, infinities and NaNs among them.
Bytes contribution(DType dtype, int64_t elements, int rank, int reduction);

// The tree of enum Algorithm over ranks [first, first + ranks), by its definition.
Bytes tree_sum(DType dtype, int64_t elements, int first, int ranks, int reduction);

// Empty, or the first element that differs; NaNs are equal.
std::string difference(DType dtype, const Bytes& expected, const Bytes& got);
// Empty, or the first element that is further off than sums in another order may be.
std::string distance(DType dtype, int64_t elements, int ranks, int reduction, const Bytes& got);

// Sizes 0, 1, prime and `large` of every dtype, many reductions under way at a time, gathers and barriers between them.
// Bits where the algorithm is exact.
std::string conforms(Communicator& communicator, Algorithm algorithm, int64_t large);

// The formulas of struct Traffic, written out for one reduction.
Traffic expected_traffic(Algorithm algorithm, int64_t elements, int64_t element_bytes, int rank, int ranks);

}  // namespace kb::test
