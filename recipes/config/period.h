// Periods: how often something is done in the course of a training, or after how long. "1ep" means every epoch, "200st"
// every 200 steps, "50ks" every 50,000 samples, "geo:1.1" after 1.1^k steps for k = 0, 1, ...
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kb {

struct Period {
  enum class Unit : uint8_t { epochs, steps, kilosamples, geometric };

  double count = 0;  // number of units; for a geometric period the ratio, > 1; 0: never
  Unit unit = Unit::epochs;

  // Returns the text for a flag whose numbers without a unit are in `plain`: "1" if the period is a whole number of
  // these units, else a text such as "1ep".
  std::string text(Unit plain) const;
  std::string text() const;  // with its unit, "1ep"
  // Returns the length of a duration in steps, rounded to the nearest and at least 1.
  int64_t steps(int64_t steps_per_epoch) const;
  bool operator==(const Period&) const = default;
};

// Reads a number above 0 with one of the units ep, st and ks. Returns nothing for other texts.
std::optional<Period> find_period(std::string_view text);
// Reads 0, whole numbers in the unit `plain`, and numbers with a unit. Throws UsageError for other texts.
Period parse_period(const std::string& flag, const std::string& text, Period::Unit plain);

// Reads a duration: a period of epochs or steps. Throws UsageError, which names the flag, for other texts.
Period parse_duration(const std::string& flag, const std::string& text);
// Returns nothing if parse_duration() would throw.
std::optional<Period> find_duration(std::string_view text);

// The point at which --stop-at ends a run before its schedule does. If neither member is set, there is none.
struct StopAt {
  std::optional<Period> duration;
  std::optional<double> percent;  // error in per cent, on the part of the data that evaluations use

  // Returns whether an evaluation with this error, a fraction, reaches `percent`.
  bool is_reached(double error) const { return percent && error <= *percent / 100; }
  std::string text() const;  // "30ep", "8.5%", or "" if neither member is set
};
// Reads "30ep", "500st" or "8.5%". Throws UsageError, which names the flag, for other texts.
StopAt parse_stop_at(const std::string& text, const std::string& flag = "--stop-at");

}  // namespace kb
