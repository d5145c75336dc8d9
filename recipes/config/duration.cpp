#include "recipes/config/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/parsed_number.h"
#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr const char* kStopAt = "--stop-at";

// Returns the number before `unit`, or nothing unless the text is a number in (0, 2^31) followed by the unit.
std::optional<double> number_before(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  const std::optional<double> value = parsed_number<double>(text);
  return value && *value > 0 && *value < 0x1p31 ? value : std::nullopt;
}

}  // namespace

int64_t Duration::steps(int64_t steps_per_epoch) const {
  const double steps = is_epochs ? count * static_cast<double>(steps_per_epoch) : count;
  return std::max<int64_t>(1, std::llround(steps));
}

std::string Duration::text() const { return fmt::format("{}{}", count, is_epochs ? "ep" : "st"); }

std::string StopAt::text() const {
  if (percent) return fmt::format("{}%", *percent);
  return duration ? duration->text() : "";
}

std::optional<Duration> find_duration(const std::string& text) {
  if (const std::optional<double> epochs = number_before(text, "ep")) return Duration{*epochs, true};
  const std::optional<double> steps = number_before(text, "st");
  if (!steps || std::floor(*steps) != *steps) return std::nullopt;
  return Duration{*steps, false};
}

Duration parse_duration(const std::string& flag, const std::string& text) {
  const std::optional<Duration> duration = find_duration(text);
  if (!duration) refuse_value(flag, kDurationExpectation, text);
  return *duration;
}

StopAt parse_stop_at(const std::string& text) {
  StopAt stop;
  if (text.empty()) return stop;
  const std::optional<double> percent = number_before(text, "%");
  if (percent && *percent <= 100)
    stop.percent = percent;
  else if (!(stop.duration = find_duration(text)))
    refuse_value(kStopAt, std::string(kDurationExpectation) + ", or an error such as 8.5%", text);
  return stop;
}

}  // namespace kb
