// Lengths of training as texts: "500st" means 500 steps, "2.5ep" means 2.5 epochs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace kb {

struct Duration {
  double count = 0;  // steps or epochs, > 0
  bool is_epochs = false;

  int64_t steps(int64_t steps_per_epoch) const;  // the length in steps, rounded to the nearest and at least 1
  std::string text() const;                      // "2.5ep"
  bool operator==(const Duration&) const = default;
};

constexpr const char* kDurationExpectation = "steps or epochs such as 500st, 2.5ep";
// Throws UsageError, which names the flag, if the text is no duration > 0 or its steps are not a whole number.
Duration parse_duration(const std::string& flag, const std::string& text);
// Returns nothing if parse_duration() would throw.
std::optional<Duration> find_duration(const std::string& text);

// The point at which --stop-at ends a run before its schedule does. If neither member is set, there is none.
struct StopAt {
  std::optional<Duration> duration;
  std::optional<double> percent;  // error in per cent, on the part of the data that evaluations use

  // Returns whether an evaluation with this error, a fraction, reaches `percent`.
  bool is_reached(double error) const { return percent && error <= *percent / 100; }
  std::string text() const;  // "30ep", "8.5%", or "" if neither member is set
};
// Reads text() back. Throws UsageError for other texts.
StopAt parse_stop_at(const std::string& text);

}  // namespace kb
