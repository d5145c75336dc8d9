// Parsers of the values of flags: numbers and words of a list. Each throws UsageError, which names the flag, the value
// expected and the value given, for a text that it does not accept.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/enum_table.h"
#include "graph/error.h"

namespace kb {

// A command line that cannot be understood; programs answer it with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Throws UsageError with these parts; `hint` ends the message.
[[noreturn]] void refuse_value(const std::string& flag, const std::string& expected, const std::string& got,
                               const std::string& hint = "");

// Whole numbers are below this bound, so that each fits into an int and the product of two does not overflow.
inline constexpr int64_t kWholeBelow = int64_t{1} << 31;
std::string whole_expectation(int64_t least);  // "a whole number in [1, 2^31)"
// parse_whole() accepts a whole number in [least, below), parse_finite() any finite number, and parse_real() a number
// in [0, below). `expected` describes these numbers in messages.
int64_t parse_whole(const std::string& flag, const std::string& text, const std::string& expected, int64_t least,
                    int64_t below = kWholeBelow);
double parse_finite(const std::string& flag, const std::string& text, const std::string& expected);
double parse_real(const std::string& flag, const std::string& text, const std::string& expected, double below);
// Accepts one of `choices`; the message suggests the nearest of them.
void check_choice(const std::string& flag, const std::string& value, const std::vector<std::string>& choices);
// Reads "1..3,7" as {1, 2, 3, 7}. Does not accept a seed twice, nor more than kMostSeeds seeds.
inline constexpr int64_t kMostSeeds = 1000;
std::vector<int64_t> parse_seeds(const std::string& flag, const std::string& text);
// Splits "a;b" into {"a", "b"}. A separator at the end adds no part.
std::vector<std::string> split_at(const std::string& text, char separator);
// Splits "a,b" into {"a", "b"}, and "a," into {"a", ""}. Spaces stay.
std::vector<std::string> comma_separated(const std::string& text);

// One choice of a flag: its word on the command line and its value in the code.
template <class Value>
struct Choice {
  const char* word = nullptr;
  Value value = {};
};

// Returns the choices of an enumeration, given a word for each of its values, which count from 0.
template <class Value, size_t count>
consteval std::array<Choice<Value>, count> choices(const char* const (&words)[count]) {
  static_assert(count == enumerators<Value>(), "a word for each value of the enumeration");
  std::array<Choice<Value>, count> all{};
  for (size_t i = 0; i < count; ++i) all[i] = {words[i], static_cast<Value>(i)};
  return all;
}

template <class Choices>
std::vector<std::string> words_of(const Choices& choices) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.emplace_back(choice.word);
  return words;
}

// Returns the word of a value; the value must be one of the choices.
template <class Choices, class Value>
std::string word_of(const Choices& choices, Value value) {
  for (const auto& choice : choices)
    if (choice.value == value) return choice.word;
  throw InternalError("a value of a flag has no word");
}

// Returns the value of a word. Throws UsageError with the nearest word if no choice has it.
template <class Choices>
auto choice_of(const std::string& flag, const Choices& choices, const std::string& word) {
  check_choice(flag, word, words_of(choices));
  for (const auto& choice : choices)
    if (choice.word == word) return choice.value;
  throw InternalError("a choice that was checked is not in its list");
}

}  // namespace kb
