#include "recipes/report/count_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kb {
namespace {

constexpr double kWhole = 99999.5;  // a greater count has a unit
constexpr std::pair<double, const char*> kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};

// Of a count that is at least 1000.
std::string with_unit(double count, int digits) {
  for (const auto& [unit, name] : kUnits)
    if (std::abs(count) >= unit) return fmt::format("{:.{}g}{}", count / unit, digits, name);
  return "";
}

}  // namespace

std::string count_text(double count, int digits) {
  if (count < kWhole) return count < 10 ? fmt::format("{:.2g}", count) : fmt::format("{:.0f}", count);
  return with_unit(count, digits);
}

std::vector<std::string> tick_texts(const std::vector<double>& ticks) {
  constexpr double kMost = 1e12;  // beyond the units
  constexpr int kDigits = 4;
  const bool has_units = std::any_of(ticks.begin(), ticks.end(), [](double t) { return std::abs(t) >= kWhole; }) &&
                         std::all_of(ticks.begin(), ticks.end(), [](double t) { return std::abs(t) < kMost; });
  std::vector<std::string> texts;
  for (const double tick : ticks)
    texts.push_back(has_units && std::abs(tick) >= 1000 ? with_unit(tick, kDigits) : fmt::format("{:.6g}", tick));
  return texts;
}

}  // namespace kb
