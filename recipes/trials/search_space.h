// Search spaces of sweeps: ranges of flags, each on a scale, and the points in them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

// Greatest numbers of minibatches and of searched flags.
inline constexpr int64_t kMostMinibatches = 64, kMostSearched = 16;

// How a range is divided: evenly in the value, in its logarithm, in the logarithm of 1 less the value (for momentum),
// or by the entries of a list.
enum class Scale : uint8_t { linear, log, revlog, list };

// The range of one flag. Examples of --search and sweep.json: "lr=1e-4:10:log", "lr=x0.125:8", "weight-decay=0:1e-3",
// "momentum=0.9:0.999:revlog", "optimizer=momentum,nesterov".
struct SearchRange {
  std::string flag;  // without dashes
  Scale scale = Scale::linear;
  double low = 0, high = 0;             // ends of the range, both included; unused by a list
  bool is_relative = false;             // true if both ends are multiples of a centre; the scale is log
  std::vector<std::string> words = {};  // entries of a list

  std::string text() const;
  bool operator==(const SearchRange&) const = default;
};

// Parses a range. Throws UsageError, which names --search. Does not check whether the recipe has the flag.
SearchRange parse_search(const std::string& text);

// Returns the minibatches of --grid in ascending order: "minibatch=8:4096:x2" (the last at most 4096) or
// "minibatch=8,16,32". Throws UsageError.
std::vector<int64_t> parse_grid(const std::string& text);

// A flag whose value is a list of whole numbers: "2:16:x2", of which the last is at most 16, or "2,4,8".
struct CountsFlag {
  const char *name, *expected;
  const char* one;  // what each of them is, for messages: "minibatch"
};
// Returns the numbers in ascending order. Throws UsageError.
std::vector<int64_t> parse_counts(const CountsFlag& flag, const std::string& text);

// Returns the value at place `u` of the range: 0 is its low end and 1 its high end, and outside of [0, 1] the scale
// continues. `centre` is the value by which the ends of a relative range are multiplied. The result is rounded to four
// significant digits; on the scale revlog, 1 less the result is. Returns "" if there is no valid value: one below 0, or
// a place outside of a list.
std::string value_at(const SearchRange& range, double u, double centre);

// Returns point number `index` (from 0) of a quasi-random sequence in [0, 1)^dimensions (Halton 1960): the radical
// inverses of index + 1 in the first primes, so that the first point of one dimension is the middle. `seed` > 0 shifts
// all points by one vector, modulo 1 (Cranley and Patterson 1976). Throws Error for more than kMostSearched dimensions,
// since it has primes for no more.
std::vector<double> halton_point(int64_t index, size_t dimensions, int64_t seed);

// Returns the `count` points of an even grid that includes both ends of each dimension, the innermost first. Throws
// UsageError (--trials) if `count` is not a whole number to the power of `dimensions`.
std::vector<std::vector<double>> even_points(int64_t count, size_t dimensions);

}  // namespace kb
