#include "recipes/orders/gradient_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "data/hash_random.h"
#include "graph/error.h"
#include "graph/parsed_number.h"
#include "graph/portable_math.h"
#include "recipes/config/times_words.h"
#include "recipes/config/values.h"
#include "recipes/orders/line_error.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

using TimesKind = GradientTimes::Kind;

constexpr const char* kTimesExpectation =
    "constant, exponential, lognormal:S with 0 < S < 4, or the path of a file, which has a '/' or a '.' in it";
constexpr const char* kTimesHint =
    "one number a line, the mean seconds of a gradient, for worker 0 first; '#' begins a line that does not count";
constexpr std::string_view kRanks = R"("kind":"ranks")";
constexpr double kSpreadBelow = 4;                          // bound of S: half of all times are above exp(-S^2 / 2)
constexpr double kLeastSeconds = 1e-9, kMostSeconds = 1e9;  // bounds of a time; its nanoseconds fit 64 bits
constexpr uint64_t kTimesStream = 0x74696d65;               // a stream of random numbers of its own

// Returns a uniform number in (0, 1), in steps of 2^-52; the least and the greatest are half a step inside.
double inner_uniform(HashStream& random) { return (static_cast<double>(random.bits() >> 12) + 0.5) * 0x1p-52; }

// Returns a normal number by the polar method (Marsaglia and Bray, "A convenient method for generating normal
// variables", SIAM Review 1964), which tries 4 / pi = 1.27 points on average.
double normal_draw(HashStream& random) {
  while (true) {
    const double x = 2 * inner_uniform(random) - 1, y = 2 * inner_uniform(random) - 1;
    const double r2 = x * x + y * y;
    if (r2 > 0 && r2 < 1) return x * std::sqrt(-2 * portable_log(r2) / r2);
  }
}

double seconds_of(const GradientTimes& times, uint64_t seed, int64_t worker, int64_t number) {
  HashStream random(hash_words(seed, kTimesStream, worker, number));
  switch (times.kind) {
    case TimesKind::constant:
      return 1;
    case TimesKind::exponential:
      return -portable_log(inner_uniform(random));
    case TimesKind::lognormal:
      return portable_exp(times.spread * (normal_draw(random) - times.spread / 2));
    case TimesKind::file:
      ensure(worker < std::ssize(times.means_s), "the file of gradients' times has not been read");
      return times.means_s[static_cast<size_t>(worker)];
    case TimesKind::clock:
      break;
  }
  throw InternalError("measured times of gradients are drawn");
}

std::optional<double> finite_in(std::string_view text) {
  const std::optional<double> value = parsed_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

double mean_in(const std::string& path, int64_t line, std::string_view text) {
  const std::optional<double> mean = finite_in(text);
  if (!mean || *mean < kLeastMean || *mean > kMostMean)
    refuse_line(path, line, "mean seconds of a gradient, a number in [1e-9, 1e6]", in_quotes(text), kTimesHint);
  return *mean;
}

void check_count(const GradientTimes& times, int64_t line, int64_t workers) {
  if (std::ssize(times.means_s) == workers) return;
  refuse_line(times.path, line, fmt::format("{} numbers, one for each worker, up to the end of the file", workers),
              fmt::format("{}", times.means_s.size()), kTimesHint);
}

// Returns the seconds that each rank of a run computed for a step before its last evaluation, of its metrics.jsonl.
std::vector<double> means_of_ranks(const std::string& path, const std::string& text) {
  const size_t found = text.rfind(kRanks);
  const int64_t line =
      1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(std::min(found, text.size())), '\n');
  if (found == std::string::npos)
    refuse_line(path, line, "a line of kind ranks, as a run of several processes writes it", "none", kTimesHint);
  const size_t begin = text.rfind('\n', found) + 1;  // 0 where there is none before
  const JsonValue json =
      parse_json(text.substr(begin, text.find('\n', begin) - begin), fmt::format("{}: line {}", path, line));
  std::vector<double> means;
  for (const double ms : json.at("compute_ms").list<double>()) means.push_back(ms / 1e3);
  return means;
}

}  // namespace

int64_t GradientTimes::ns(uint64_t seed, int64_t worker, int64_t number) const {
  const double seconds = seconds_of(*this, seed, worker, number);
  return static_cast<int64_t>(std::floor(std::clamp(seconds, kLeastSeconds, kMostSeconds) * 1e9 + 0.5)) + message_ns;
}

GradientTimes parse_times(const std::string& flag, const std::string& text) {
  if (text == "constant") return {.kind = TimesKind::constant};
  if (text == "exponential") return {.kind = TimesKind::exponential};
  if (text.starts_with(kLognormalTimes)) {
    const std::optional<double> spread = finite_in(std::string_view(text).substr(kLognormalTimes.size()));
    if (!spread || *spread <= 0 || *spread >= kSpreadBelow) refuse_value(flag, kTimesExpectation, text);
    return {.kind = TimesKind::lognormal, .spread = *spread};
  }
  if (!names_file(text)) refuse_value(flag, kTimesExpectation, text);
  return {.kind = TimesKind::file, .path = text};
}

std::string times_text(const GradientTimes& times) {
  switch (times.kind) {
    case TimesKind::constant:
      return "constant";
    case TimesKind::exponential:
      return "exponential";
    case TimesKind::lognormal:
      return fmt::format("{}{}", kLognormalTimes, times.spread);
    case TimesKind::file:
      return times.path;
    case TimesKind::clock:
      return "clock";
  }
  throw InternalError("times of gradients are of no known kind");
}

GradientTimes read_times(GradientTimes times, int64_t workers) {
  if (times.kind != TimesKind::file) return times;
  const std::string text = read_file(times.path);
  times.means_s.clear();
  int64_t line = 0;
  if (text.starts_with('{')) {
    times.means_s = means_of_ranks(times.path, text);
    check_count(times, 1, workers);
    return times;
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view words = trimmed(std::string_view(text).substr(begin, end - begin));
    ++line;
    if (!words.empty() && words.front() != '#') times.means_s.push_back(mean_in(times.path, line, words));
    begin = end + 1;
  }
  check_count(times, std::max<int64_t>(line, 1), workers);
  return times;
}

}  // namespace kb
