#include "data/text/numbers.h"

#include <fmt/format.h>

#include "data/error.h"
#include "data/order.h"
#include "data/text/unit_tokenizer.h"

namespace kb {
namespace {

constexpr const char* kSmallNumbers[] = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr const char* kTens[] = {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr const char *kHundred = "hundred", *kThousand = "thousand";

/// Appends the words of a number below 1000; nothing for 0.
void append_words(int64_t number, std::vector<const char*>& words) {
  if (number >= 100) {
    words.push_back(kSmallNumbers[number / 100]);
    words.push_back(kHundred);
    number %= 100;
  }
  if (number >= 20) {
    words.push_back(kTens[number / 10 - 2]);
    number %= 10;
  }
  if (number > 0) words.push_back(kSmallNumbers[number]);
}

std::shared_ptr<const Tokenizer> figures_tokenizer() {
  std::vector<std::string> figures;
  for (char figure = '0'; figure <= '9'; ++figure) figures.emplace_back(1, figure);
  return std::make_shared<UnitTokenizer>(TextUnit::character, false, Vocabulary(std::move(figures)));
}

std::shared_ptr<const Tokenizer> words_tokenizer() {
  std::vector<std::string> words(std::begin(kSmallNumbers), std::end(kSmallNumbers));
  words.insert(words.end(), std::begin(kTens), std::end(kTens));
  words.insert(words.end(), {kHundred, kThousand});
  return std::make_shared<UnitTokenizer>(TextUnit::word, false, Vocabulary(std::move(words)));
}

}  // namespace

std::string number_in_words(int64_t number) {
  if (number < 0 || number >= 1'000'000)
    throw DataError({"numbers", "no words for this number", "0 to 999999", fmt::format("{}", number), ""});
  if (number == 0) return kSmallNumbers[0];
  std::vector<const char*> words;
  if (number >= 1000) {
    append_words(number / 1000, words);
    words.push_back(kThousand);
  }
  append_words(number % 1000, words);
  return fmt::format("{}", fmt::join(words, " "));
}

SequencePairs number_pairs(const NumbersSpec& spec) {
  if (spec.count < 10 || spec.count > 1'000'000)
    throw DataError({"numbers", "no such set", "10 to 1000000 numbers", fmt::format("{}", spec.count), ""});
  SequencePairs pairs{
      .name = "numbers", .source = {"figures", figures_tokenizer()}, .target = {"words", words_tokenizer()}};
  const Permutation order(spec.seed, 0, spec.count);
  const int64_t train_count = spec.count - spec.count / 10;
  for (int64_t position = 0; position < spec.count; ++position) {
    const int64_t number = order(position);
    const std::string words = number_in_words(number);
    PairPart& part = position < train_count ? pairs.train : pairs.test;
    part.source.append(pairs.source.tokenizer->encode(fmt::format("{}", number)));
    part.target.append(pairs.target.tokenizer->encode(words));
    if (position >= train_count) part.references.push_back(words);
  }
  pairs.fingerprint = fingerprint_of(pairs);
  return pairs;
}

}  // namespace kb
