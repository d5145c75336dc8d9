// Buckets of lengths: sequences of about one length are padded to one length, their bucket's, so that a program of
// fixed shapes takes them. More buckets pad less; each needs a program of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kb {

/// Returns the bucket lengths, ascending, at which all sequences together have the least padding when each goes into
/// the shortest bucket that holds it: `buckets` of them, or one for each different length if these are fewer. Exact, by
/// dynamic programming over the different lengths. `lengths`: one for each sample. Throws DataError for no lengths, a
/// negative one, and fewer than 1 bucket.
std::vector<int64_t> least_padding(std::span<const int64_t> lengths, int64_t buckets);

}  // namespace kb
