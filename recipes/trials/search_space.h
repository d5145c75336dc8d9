// Values that a sweep tries: ranges of flags, each on a scale, and the points in them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

inline constexpr int64_t kMostMinibatches = 64, kMostSearched = 16;  // flags

// How a range is divided: evenly in the value, in its logarithm, in the logarithm of 1 less the value (momentum), or in
// the places of a list.
enum class Scale : uint8_t { linear, log, revlog, list };

// The range of one flag, as --search and sweep.json have it: "lr=1e-4:10:log", "lr=x0.125:8", "weight-decay=0:1e-3",
// "momentum=0.9:0.999:revlog", "optimizer=momentum,nesterov".
struct SearchRange {
  std::string flag;  // without dashes
  Scale scale = Scale::linear;
  double low = 0, high = 0;             // both in the range; not of a list
  bool is_relative = false;             // both are times the centre, on the scale log
  std::vector<std::string> words = {};  // of a list

  std::string text() const;
  bool operator==(const SearchRange&) const = default;
};

// Throws UsageError, which names --search. Whether the recipe has the flag is not asked here.
SearchRange parse_search(const std::string& text);

// Minibatches of --grid, growing: "minibatch=8:4096:x2" (the last at most 4096) or "minibatch=8,16,32". Throws
// UsageError.
std::vector<int64_t> parse_grid(const std::string& text);

// Returns the value at place `u` of the range: 0 is its low end and 1 its high end, and outside of [0, 1] the scale
// goes on. `centre`: of a relative range. Rounded to four digits, on the scale revlog those of 1 less the value. Empty
// where the scale has no such value that a flag could take: below 0, a momentum below 0.
std::string value_at(const SearchRange& range, double u, double centre);

// A quasi-random sequence of points of [0, 1)^dimensions (Halton 1960): number `index` (from 0) has the radical inverse
// of index + 1 in the first primes, so that the first point of one dimension is the middle. `seed` > 0 moves all points
// alike, modulo 1 (Cranley and Patterson 1976). Throws Error beyond the kMostSearched dimensions that it has primes
// for.
std::vector<double> halton_point(int64_t index, size_t dimensions, int64_t seed);

// Evenly spaced points with both ends, the innermost first: `count` is the power of a whole number, which each of the
// dimensions has. Throws UsageError (--trials) where it is none.
std::vector<std::vector<double>> even_points(int64_t count, size_t dimensions);

}  // namespace kb
