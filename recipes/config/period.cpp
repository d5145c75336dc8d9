#include "recipes/config/period.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/parsed_number.h"
#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr const char *kGeometric = "geo:", *kDurationExpectation = "steps or epochs such as 500st, 2.5ep";

struct UnitWord {
  const char* word;
  Period::Unit unit;
};
constexpr UnitWord kUnits[] = {
    {"ep", Period::Unit::epochs}, {"st", Period::Unit::steps}, {"ks", Period::Unit::kilosamples}};

std::optional<double> number_of(std::string_view text) {
  const std::optional<double> value = parsed_number<double>(text);
  return value && *value >= 0 && *value < static_cast<double>(kWholeBelow) ? value : std::nullopt;
}

bool is_integer(double value) { return std::floor(value) == value; }

std::optional<Period> period_of(std::string_view text, Period::Unit plain) {
  if (text.starts_with(kGeometric)) {
    const std::optional<double> ratio = number_of(text.substr(std::string_view(kGeometric).size()));
    return ratio && *ratio > 1 ? std::optional(Period{*ratio, Period::Unit::geometric}) : std::nullopt;
  }
  if (const std::optional<Period> period = find_period(text)) return period;
  const std::optional<double> count = number_of(text);
  return count && is_integer(*count) ? std::optional(Period{*count, plain}) : std::nullopt;
}

}  // namespace

std::optional<Period> find_period(std::string_view text) {
  for (const auto& [word, unit] : kUnits)
    if (text.ends_with(word)) {
      const std::optional<double> count = number_of(text.substr(0, text.size() - std::string_view(word).size()));
      const bool is_taken = count && *count > 0 && (unit != Period::Unit::steps || is_integer(*count));
      return is_taken ? std::optional(Period{*count, unit}) : std::nullopt;
    }
  return std::nullopt;
}

std::string Period::text(Unit plain) const {
  if (count == 0) return "0";
  return unit == plain && is_integer(count) ? fmt::format("{}", count) : text();
}

std::string Period::text() const {
  if (unit == Unit::geometric) return fmt::format("{}{}", kGeometric, count);
  for (const auto& [word, of] : kUnits)
    if (of == unit) return fmt::format("{}{}", count, word);
  throw InternalError("a period has no unit");
}

Period parse_period(const std::string& flag, const std::string& text, Period::Unit plain) {
  const std::optional<Period> period = period_of(text, plain);
  if (!period)
    refuse_value(flag,
                 fmt::format("a whole number of {}, or 1ep (epochs), 200st (steps), 50ks (1,000 samples), geo:1.1 "
                             "(after 1.1^k steps)",
                             plain == Period::Unit::steps ? "steps" : "epochs"),
                 text);
  return *period;
}

int64_t Period::steps(int64_t steps_per_epoch) const {
  const double steps = unit == Unit::epochs ? count * static_cast<double>(steps_per_epoch) : count;
  return std::max<int64_t>(1, std::llround(steps));
}

std::optional<Period> find_duration(std::string_view text) {
  const std::optional<Period> period = find_period(text);
  return period && period->unit != Period::Unit::kilosamples ? period : std::nullopt;
}

Period parse_duration(const std::string& flag, const std::string& text) {
  const std::optional<Period> duration = find_duration(text);
  if (!duration) refuse_value(flag, kDurationExpectation, text);
  return *duration;
}

std::string StopAt::text() const {
  if (percent) return fmt::format("{}%", *percent);
  return duration ? duration->text() : "";
}

StopAt parse_stop_at(const std::string& text, const std::string& flag) {
  StopAt stop;
  const std::optional<double> percent =
      text.ends_with('%') ? number_of(std::string_view(text).substr(0, text.size() - 1)) : std::nullopt;
  if (percent && *percent > 0 && *percent <= 100)
    stop.percent = percent;
  else if (!(stop.duration = find_duration(text)))
    refuse_value(flag, std::string(kDurationExpectation) + ", or an error such as 8.5%", text);
  return stop;
}

}  // namespace kb
