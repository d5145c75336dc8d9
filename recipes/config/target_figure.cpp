#include "recipes/config/target_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "recipes/config/values.h"

namespace kb {
namespace {

// Reads a value: a number or, followed by '%', a share of the samples. `expected` and `text`, the flag's whole text,
// are for the message.
double parse_figure(const std::string& flag, std::string number, const std::string& expected, const std::string& text) {
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.pop_back();
  try {
    const double value = parse_finite(flag, number, expected);
    return is_percent ? value / 100 : value;
  } catch (const UsageError&) {
    refuse_value(flag, expected, text);
  }
}

}  // namespace

std::string TargetFigure::text() const { return fmt::format("{}={}", metric, value); }

std::string TargetFigure::share_fault(bool higher_is_better) const {
  if (divides_shares(higher_is_better)) return "";
  return fmt::format("expected a share that some training can be better than, and not every one, {}, got {}{}",
                     higher_is_better ? "from 0 and below 1" : "above 0 and up to 1", text(),
                     value > 1 ? fmt::format("\n  hint:     {}%", text()) : "");
}

std::string TargetFigure::plain_metric() const {
  return is_of_averages() ? metric.substr(std::string_view(kAveragedPrefix).size()) : metric;
}

std::vector<double> parse_target_values(const std::string& flag, const std::string& text) {
  static const std::string kExpectation =
      fmt::format("1 to {} values of the sweep's figure, such as 1.2,1.1,1 or 5%,3%", kMostTargets);
  std::vector<double> values;
  for (const std::string& word : comma_separated(text)) {
    values.push_back(parse_figure(flag, word, kExpectation, text));
    if (std::count(values.begin(), values.end(), values.back()) > 1) refuse_value(flag, "values that differ", text);
  }
  if (values.empty() || values.size() > kMostTargets) refuse_value(flag, kExpectation, text);
  return values;
}

TargetFigure parse_target(const std::string& flag, const std::string& text) {
  static constexpr const char* kExpectation = "a metric and its value, such as error=0.03, error=3% or loss=0.1";
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) refuse_value(flag, kExpectation, text);
  return {text.substr(0, equals), parse_figure(flag, text.substr(equals + 1), kExpectation, text)};
}

}  // namespace kb
