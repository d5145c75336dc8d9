// Tests the drawn task of numbers in figures and words.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "data/text/numbers.h"
#include "tests/data/files.h"

namespace kb::numbers_test {
namespace {

// Returns the number that the words mean: an oracle that reads them, where the code writes them.
int64_t meaning_of(const std::string& words) {
  static const std::map<std::string, int64_t> kValues = {
      {"zero", 0},      {"one", 1},       {"two", 2},       {"three", 3},    {"four", 4},     {"five", 5},
      {"six", 6},       {"seven", 7},     {"eight", 8},     {"nine", 9},     {"ten", 10},     {"eleven", 11},
      {"twelve", 12},   {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17},
      {"eighteen", 18}, {"nineteen", 19}, {"twenty", 20},   {"thirty", 30},  {"forty", 40},   {"fifty", 50},
      {"sixty", 60},    {"seventy", 70},  {"eighty", 80},   {"ninety", 90}};
  int64_t sum = 0, part = 0;
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    begin = end + 1;
    if (word == "hundred") {
      part *= 100;
    } else if (word == "thousand") {
      sum = part * 1000;
      part = 0;
    } else {
      part += kValues.at(word);
    }
  }
  return sum + part;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numbers)

BOOST_AUTO_TEST_CASE(words_say_their_number) {
  BOOST_TEST(number_in_words(0) == "zero");
  BOOST_TEST(number_in_words(17) == "seventeen");
  BOOST_TEST(number_in_words(42) == "forty two");
  BOOST_TEST(number_in_words(100) == "one hundred");
  BOOST_TEST(number_in_words(40213) == "forty thousand two hundred thirteen");
  BOOST_TEST(number_in_words(999999) == "nine hundred ninety nine thousand nine hundred ninety nine");
  for (int64_t number = 0; number < 1'000'000; number += 1 + number / 1000) {
    const std::string words = number_in_words(number);
    if (meaning_of(words) != number) BOOST_ERROR(words);
  }
  BOOST_TEST(test::data_error("", [] { number_in_words(1'000'000); }) ==
             "numbers: no words for this number\n  expected: 0 to 999999\n  got:      1000000");
}

BOOST_AUTO_TEST_CASE(every_number_is_in_one_part) {
  const SequencePairs pairs = number_pairs({.count = 2'000});
  BOOST_TEST(pairs.train.count() == 1'800);
  BOOST_TEST(pairs.valid.count() == 0);
  BOOST_TEST(pairs.test.count() == 200);
  BOOST_TEST(pairs.source.tokenizer->vocabulary().size() == 14);
  BOOST_TEST(pairs.target.tokenizer->vocabulary().size() == 34);
  std::set<int64_t> seen, tested;
  for (const PairPart* part : {&pairs.train, &pairs.test})
    for (int64_t i = 0; i < part->count(); ++i) {
      const int64_t number = std::stoll(pairs.source.tokenizer->decode(part->source[i]));
      seen.insert(number);
      if (part == &pairs.test) tested.insert(number);
      if (pairs.target.tokenizer->decode(part->target[i]) != number_in_words(number)) BOOST_ERROR(number);
      if (part == &pairs.test && part->references[static_cast<size_t>(i)] != number_in_words(number))
        BOOST_ERROR(number);
    }
  BOOST_TEST(seen.size() == 2'000);
  BOOST_TEST(*seen.rbegin() == 1'999);
  BOOST_TEST(pairs.train.references.empty());
  // A drawn tenth: some of each fifth of the range.
  for (int64_t fifth = 0; fifth < 5; ++fifth)
    BOOST_TEST(std::distance(tested.lower_bound(400 * fifth), tested.lower_bound(400 * (fifth + 1))) > 20);
}

BOOST_AUTO_TEST_CASE(the_set_follows_from_its_seed) {
  const SequencePairs one = number_pairs({.count = 100});
  BOOST_TEST(one.fingerprint == number_pairs({.count = 100}).fingerprint);
  BOOST_TEST(one.fingerprint != number_pairs({.count = 100, .seed = 2}).fingerprint);
  BOOST_TEST(number_pairs({.count = 10}).test.count() == 1);
  BOOST_TEST(number_pairs({.count = 19}).test.count() == 1);
  BOOST_TEST(test::data_error("", [] { number_pairs({.count = 9}); }) ==
             "numbers: no such set\n  expected: 10 to 1000000 numbers\n  got:      9");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::numbers_test
