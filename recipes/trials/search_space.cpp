#include "recipes/trials/search_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr const char *kSearch = "--search", *kGrid = "--grid";
constexpr const char* kSearchExpectation =
    "a flag and its range, such as lr=1e-4:10:log, lr=x0.125:8, momentum=0.9:0.999:revlog, weight-decay=0:1e-3, or a "
    "list of values: label-smoothing=0,0.01,0.1";
constexpr const char* kGridExpectation = "minibatch=8:4096:x2 or minibatch=8,16,32";
constexpr int kPrimes[kMostSearched] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};

constexpr Choice<Scale> kScales[] = {{"linear", Scale::linear}, {"log", Scale::log}, {"revlog", Scale::revlog}};

// Splits a text at its colons: "a:b:c" -> {"a", "b", "c"}.
std::vector<std::string> colon_separated(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == ':')
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

// Returns the flag before "=", without dashes that a user may write, and the text after "=".
std::pair<std::string, std::string> split_assignment(const char* flag, const char* expected, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) refuse_value(flag, expected, text);
  std::string name = text.substr(0, equals);
  if (name.starts_with("--")) name = name.substr(2);
  if (name.empty() || equals + 1 == text.size()) refuse_value(flag, expected, text);
  return {name, text.substr(equals + 1)};
}

double search_number(const std::string& word, const std::string& text) {
  try {
    return parse_finite(kSearch, word, kSearchExpectation);
  } catch (const UsageError&) {
    refuse_value(kSearch, kSearchExpectation, text);
  }
}

void check_range(const SearchRange& range, const std::string& text) {
  const auto refuse = [&](const char* expected) { refuse_value(kSearch, expected, text); };
  if (range.low >= range.high) refuse("a range whose low end is below its high end");
  if (range.low < 0) refuse("a range of numbers >= 0");
  if (range.scale == Scale::log && range.low <= 0) refuse("a range above 0 for the scale log");
  if (range.scale == Scale::revlog && range.high >= 1) refuse("a range below 1 for the scale revlog");
}

SearchRange parse_ends(const std::string& flag, std::string ends, const std::string& text) {
  SearchRange range{.flag = flag};
  range.is_relative = ends.starts_with('x');
  if (range.is_relative) ends = ends.substr(1);
  const std::vector<std::string> parts = colon_separated(ends);
  if (parts.size() < 2 || parts.size() > 3) refuse_value(kSearch, kSearchExpectation, text);
  range.low = search_number(parts[0], text);
  range.high = search_number(parts[1], text);
  if (range.is_relative) range.scale = Scale::log;
  if (parts.size() == 3) {
    if (range.is_relative && parts[2] != "log") refuse_value(kSearch, "the scale log for a relative range", text);
    range.scale = choice_of(kSearch, kScales, parts[2]);
  }
  check_range(range, text);
  return range;
}

// Returns a number > 0 rounded to `digits` significant digits.
double rounded(double value, int digits) { return std::stod(fmt::format("{:.{}e}", value, digits - 1)); }

// Reads "8:4096:x2". `text`: the whole value of the flag, for messages.
std::vector<int64_t> parse_progression(const CountsFlag& flag, const std::string& range, const std::string& text) {
  const std::vector<std::string> parts = colon_separated(range);
  if (parts.size() != 3 || !parts[2].starts_with('x')) refuse_value(flag.name, flag.expected, text);
  const int64_t first = parse_whole(flag.name, parts[0], flag.expected, 1);
  const int64_t last = parse_whole(flag.name, parts[1], flag.expected, 1);
  const int64_t factor = parse_whole(flag.name, parts[2].substr(1), "a whole factor x2 or more", 2);
  std::vector<int64_t> counts;
  for (int64_t count = first; count <= last; count *= factor) counts.push_back(count);
  if (counts.empty()) refuse_value(flag.name, fmt::format("a first {} that is at most the last one", flag.one), text);
  return counts;
}

std::vector<int64_t> parse_counts(const CountsFlag& flag, const std::string& values, const std::string& text) {
  std::vector<int64_t> counts;
  if (values.find(':') != std::string::npos)
    counts = parse_progression(flag, values, text);
  else
    for (const std::string& word : comma_separated(values))
      counts.push_back(parse_whole(flag.name, word, flag.expected, 1));
  std::sort(counts.begin(), counts.end());
  if (std::adjacent_find(counts.begin(), counts.end()) != counts.end())
    refuse_value(flag.name, fmt::format("every {} once", flag.one), text);
  if (std::ssize(counts) > kMostMinibatches)
    refuse_value(flag.name, fmt::format("at most {} of them", kMostMinibatches), text);
  return counts;
}

double radical_inverse(int64_t number, int base) {
  double value = 0, place = 1.0 / base;
  for (; number > 0; number /= base, place /= base) value += static_cast<double>(number % base) * place;
  return value;
}

}  // namespace

std::string SearchRange::text() const {
  if (scale == Scale::list) return fmt::format("{}={}", flag, fmt::join(words, ","));
  if (is_relative) return fmt::format("{}=x{}:{}", flag, low, high);
  return fmt::format("{}={}:{}:{}", flag, low, high, word_of(kScales, scale));
}

SearchRange parse_search(const std::string& text) {
  const auto [flag, ends] = split_assignment(kSearch, kSearchExpectation, text);
  if (ends.find(':') != std::string::npos) return parse_ends(flag, ends, text);
  SearchRange list{.flag = flag, .scale = Scale::list, .words = comma_separated(ends)};
  if (list.words.size() < 2) refuse_value(kSearch, kSearchExpectation, text);
  return list;
}

std::vector<int64_t> parse_grid(const std::string& text) {
  const auto [flag, values] = split_assignment(kGrid, kGridExpectation, text);
  if (flag != "minibatch") refuse_value(kGrid, kGridExpectation, text);
  return parse_counts({kGrid, kGridExpectation, "minibatch"}, values, text);
}

std::vector<int64_t> parse_counts(const CountsFlag& flag, const std::string& text) {
  return parse_counts(flag, text, text);
}

std::string value_at(const SearchRange& range, double u, double centre) {
  constexpr int kDigits = 4;
  if (range.scale == Scale::list) {
    if (u < 0 || u > 1) return "";
    const auto place = static_cast<size_t>(u * static_cast<double>(range.words.size()));
    return range.words[std::min(place, range.words.size() - 1)];
  }
  if (range.scale == Scale::linear) {
    const double value = range.low + u * (range.high - range.low);
    return value < 0 ? "" : fmt::format("{:.{}g}", value, kDigits);
  }
  if (range.scale == Scale::log) {
    const double times = range.is_relative ? centre : 1;
    return fmt::format("{:.{}g}", times * range.low * std::pow(range.high / range.low, u), kDigits);
  }
  const double low = 1 - range.low, high = 1 - range.high, rest = low * std::pow(high / low, u);
  return rest > 1 ? "" : fmt::format("{:.12g}", 1 - rounded(rest, kDigits));
}

std::vector<double> halton_point(int64_t index, size_t dimensions, int64_t seed) {
  if (dimensions > std::size(kPrimes))
    throw Error(fmt::format("--search: expected at most {} flags, got {}", std::size(kPrimes), dimensions));
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  std::vector<double> point;
  for (size_t d = 0; d < dimensions; ++d) {
    const double shift = seed > 0 ? static_cast<double>(random() >> 11) * 0x1p-53 : 0;
    const double moved = radical_inverse(index + 1, kPrimes[d]) + shift;
    point.push_back(moved - std::floor(moved));
  }
  return point;
}

std::vector<std::vector<double>> even_points(int64_t count, size_t dimensions) {
  const auto each = std::llround(std::pow(static_cast<double>(count), 1.0 / static_cast<double>(dimensions)));
  int64_t product = 1;
  for (size_t d = 0; d < dimensions; ++d) product *= each;
  if (product != count)
    throw UsageError(
        fmt::format("--trials: expected, with --points even, as many values for each of {} flags: {}, got "
                    "{}",
                    dimensions, product, count));
  std::vector<std::vector<double>> points;
  for (int64_t number = 0; number < count; ++number) {
    std::vector<double> point;
    int64_t rest = number;
    for (size_t d = 0; d < dimensions; ++d, rest /= each)
      point.push_back(each == 1 ? 0.5 : static_cast<double>(rest % each) / static_cast<double>(each - 1));
    points.push_back(std::move(point));
  }
  const auto from_middle = [](const std::vector<double>& point) {
    double distance = 0;
    for (const double u : point) distance = std::max(distance, std::abs(u - 0.5));
    return distance;
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const auto& a, const auto& b) { return from_middle(a) < from_middle(b); });
  return points;
}

}  // namespace kb
