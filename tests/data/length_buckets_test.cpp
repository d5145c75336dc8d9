// Tests the choice of buckets of lengths against every possible choice.
#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <set>

#include "data/hash_random.h"
#include "data/text/length_buckets.h"
#include "tests/data/files.h"

namespace kb::length_buckets_test {
namespace {

using Lengths = std::vector<int64_t>;

int64_t padded_elements(const Lengths& lengths, const Lengths& buckets) {
  int64_t sum = 0;
  for (const int64_t length : lengths) sum += *std::lower_bound(buckets.begin(), buckets.end(), length);
  return sum;
}

// Returns the least number of padded elements over all subsets of `buckets` of the different lengths that have the
// longest.
int64_t least_by_trial(const Lengths& lengths, int64_t buckets) {
  const std::set<int64_t> unique(lengths.begin(), lengths.end());
  const Lengths different(unique.begin(), unique.end());
  const auto last = static_cast<unsigned>(different.size() - 1);
  int64_t least = -1;
  for (unsigned subset = 0; subset < 1u << last; ++subset) {
    if (std::popcount(subset) + 1 != std::min<int64_t>(buckets, std::ssize(different))) continue;
    Lengths chosen;
    for (unsigned i = 0; i < last; ++i)
      if (subset >> i & 1) chosen.push_back(different[i]);
    chosen.push_back(different[last]);
    const int64_t elements = padded_elements(lengths, chosen);
    if (least < 0 || elements < least) least = elements;
  }
  return least;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(length_buckets)

BOOST_AUTO_TEST_CASE(buckets_of_a_few_lengths) {
  const Lengths lengths = {3, 1, 10, 3, 9, 1, 1};
  BOOST_TEST(least_padding(lengths, 1) == (Lengths{10}));
  BOOST_TEST(least_padding(lengths, 2) == (Lengths{3, 10}));
  BOOST_TEST(least_padding(lengths, 3) == (Lengths{1, 3, 10}));
  BOOST_TEST(least_padding(lengths, 4) == (Lengths{1, 3, 9, 10}));
  BOOST_TEST(least_padding(lengths, 9) == (Lengths{1, 3, 9, 10}));
  BOOST_TEST(least_padding(Lengths{0, 5, 0}, 2) == (Lengths{0, 5}));
}

BOOST_AUTO_TEST_CASE(no_other_choice_pads_less) {
  HashStream random(hash_words(7));
  for (int trial = 0; trial < 40; ++trial) {
    Lengths lengths;
    for (int i = 4 + random.below(60); i > 0; --i) lengths.push_back(1 + random.below(1 + random.below(40)) % 11);
    for (int64_t buckets = 1; buckets <= 7; ++buckets) {
      const Lengths chosen = least_padding(lengths, buckets);
      BOOST_TEST(std::is_sorted(chosen.begin(), chosen.end()));
      BOOST_TEST(std::ssize(chosen) <= buckets);
      BOOST_TEST(padded_elements(lengths, chosen) == least_by_trial(lengths, buckets));
    }
  }
}

BOOST_AUTO_TEST_CASE(many_different_lengths_take_no_square_of_them) {
  Lengths lengths;
  for (int64_t length = 1; length <= 100'000; ++length) lengths.push_back(length);
  const Lengths chosen = least_padding(lengths, 4);  // of a uniform distribution: the quarters
  BOOST_TEST(chosen == (Lengths{25'000, 50'000, 75'000, 100'000}));
}

BOOST_AUTO_TEST_CASE(lengths_without_buckets_are_refused) {
  const auto error = [](auto&& action) { return test::data_error("", action); };
  BOOST_TEST(error([] { least_padding(Lengths{1}, 0); }) ==
             "buckets: too few\n  expected: 1 bucket or more\n  got:      0");
  BOOST_TEST(test::contains(error([] { least_padding(Lengths{}, 2); }), "no lengths to choose buckets for"));
  BOOST_TEST(test::contains(error([] { least_padding(Lengths{3, -2}, 2); }), "got:      -2"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::length_buckets_test
