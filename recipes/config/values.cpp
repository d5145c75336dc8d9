#include "recipes/config/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "graph/parsed_number.h"
#include "recipes/task/suggest.h"

namespace kb {
namespace {

template <class Number>
Number parse(const std::string& flag, const std::string& text, const std::string& expected) {
  const std::optional<Number> value = parsed_number<Number>(text);
  if (!value) refuse_value(flag, expected, text);
  return *value;
}

}  // namespace

void refuse_value(const std::string& flag, const std::string& expected, const std::string& got,
                  const std::string& hint) {
  throw UsageError(fmt::format("{}: expected {}, got '{}'{}", flag, expected, got, hint));
}

std::string whole_expectation(int64_t least) { return fmt::format("a whole number in [{}, 2^31)", least); }

int64_t parse_whole(const std::string& flag, const std::string& text, const std::string& expected, int64_t least,
                    int64_t below) {
  const int64_t value = parse<int64_t>(flag, text, expected);
  if (value < least || value >= below) refuse_value(flag, expected, text);
  return value;
}

double parse_finite(const std::string& flag, const std::string& text, const std::string& expected) {
  const double value = parse<double>(flag, text, expected);
  if (!std::isfinite(value)) refuse_value(flag, expected, text);
  return value;
}

double parse_real(const std::string& flag, const std::string& text, const std::string& expected, double below) {
  const double value = parse_finite(flag, text, expected);
  if (value < 0 || value >= below) refuse_value(flag, expected, text);
  return value;
}

void check_choice(const std::string& flag, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  refuse_value(flag, fmt::format("one of {}", fmt::join(choices, ", ")), value, did_you_mean(value, choices));
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(std::move(part));
  return parts;
}

std::vector<std::string> comma_separated(const std::string& text) { return split_at(text + ",", ','); }

std::vector<int64_t> parse_seeds(const std::string& flag, const std::string& text) {
  const std::string expected =
      fmt::format("a range of seeds such as 1..5, or numbers such as 1,4,7, at most {}, no seed twice", kMostSeeds);
  const auto seed = [&](const std::string& word) { return parse_whole(flag, word, expected, 0, int64_t{1} << 32); };
  std::vector<int64_t> seeds;
  for (const std::string& word : comma_separated(text)) {
    const size_t dots = word.find("..");
    const int64_t first = seed(word.substr(0, dots));
    const int64_t last = dots == std::string::npos ? first : seed(word.substr(dots + 2));
    if (last < first || last - first >= kMostSeeds) refuse_value(flag, expected, text);
    for (int64_t s = first; s <= last; ++s) {
      if (std::find(seeds.begin(), seeds.end(), s) != seeds.end()) refuse_value(flag, expected, text);
      seeds.push_back(s);
    }
  }
  if (seeds.empty() || std::ssize(seeds) > kMostSeeds) refuse_value(flag, expected, text);
  return seeds;
}

}  // namespace kb
