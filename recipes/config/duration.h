// Lengths of training in words: "500st" is 500 steps, "2.5ep" 2.5 epochs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace kb {

struct Duration {
  double count = 0;  // > 0
  bool is_epochs = false;

  int64_t steps(int64_t steps_per_epoch) const;  // at least 1, rounded to the nearest
  std::string text() const;                      // "2.5ep"
};

constexpr const char* kDurationExpectation = "steps or epochs such as 500st, 2.5ep";
// Throws UsageError where the text is no duration > 0, or steps are no whole number.
Duration parse_duration(const std::string& flag, const std::string& text);
// No duration where the text ends in neither unit.
std::optional<Duration> find_duration(const std::string& text);

// The point at which --stop-at ends a run before its schedule does. With neither member it is never.
struct StopAt {
  std::optional<Duration> duration;
  std::optional<double> percent;  // the share of the part judged on that is classified wrongly

  // True for an evaluation with this error, a fraction of that part.
  bool is_reached(double error) const { return percent && error <= *percent / 100; }
  std::string text() const;  // "30ep", "8.5%", or "" for never
};
// "" is never. Throws UsageError.
StopAt parse_stop_at(const std::string& text);

}  // namespace kb
