// A drawn task of translation: a number in figures becomes the same number in English words, "40213" becomes "forty
// thousand two hundred thirteen". Every answer is known, and a small model learns it in a minute.
//
// Words are separated by spaces alone: no hyphen joins tens and ones ("forty two"), and no "and" follows hundreds or
// thousands. Thirty words make all numbers below a million; 0 is "zero".
#pragma once

#include "data/text/sequence_pairs.h"

namespace kb {

struct NumbersSpec {
  int64_t count = 100'000;  ///< the numbers are [0, count); 10 to 1,000,000
  uint64_t seed = 1;        ///< of the permutation whose last tenth (rounded down) is the test part
};

/// Returns the words of a number in [0, 1,000,000).
std::string number_in_words(int64_t number);

/// Returns all numbers: source tokens are characters, target tokens are words. Both parts are in the permutation's
/// order. Throws DataError for a count out of range.
SequencePairs number_pairs(const NumbersSpec& spec = {});

}  // namespace kb
