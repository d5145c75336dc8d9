#include "recipes/config/target_figure.h"

#include <fmt/format.h>

#include <string_view>

#include "recipes/config/values.h"

namespace kb {

std::string TargetFigure::text() const { return fmt::format("{}={}", metric, value); }

std::string TargetFigure::plain_metric() const {
  return is_of_averages() ? metric.substr(std::string_view(kAveragedPrefix).size()) : metric;
}

TargetFigure parse_target(const std::string& flag, const std::string& text) {
  static constexpr const char* kExpectation = "a metric and its value, such as error=0.03, error=3% or loss=0.1";
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) refuse_value(flag, kExpectation, text);
  std::string number = text.substr(equals + 1);
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.pop_back();
  double value = 0;
  try {
    value = parse_finite(flag, number, kExpectation);
  } catch (const UsageError&) {
    refuse_value(flag, kExpectation, text);
  }
  return {text.substr(0, equals), is_percent ? value / 100 : value};
}

}  // namespace kb
