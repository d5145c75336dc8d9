#include "recipes/config/period.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/parsed_number.h"
#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr const char* kGeometric = "geo:";

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

}  // namespace kb
