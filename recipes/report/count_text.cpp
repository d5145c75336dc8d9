#include "recipes/report/count_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kb {
namespace {

constexpr double kWhole = 99999.5;  // counts from here on are written with a unit
constexpr std::pair<double, const char*> kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};

std::string whole_text(double count) {
  return count < 10 ? fmt::format("{:.2g}", count) : fmt::format("{:.0f}", count);
}

// Returns the count with the unit of its rounded value: 999,700 in three digits is 1M.
std::string with_unit(double count, int digits) {
  const double rounded = 1 - 0.5 * std::pow(10, -digits);
  for (const auto& [unit, name] : kUnits)
    if (std::abs(count) >= rounded * unit) return fmt::format("{:.{}g}{}", count / unit, digits, name);
  return whole_text(count);
}

// Returns whether numbers that stand together are written with units: one is large enough and none is too large.
bool have_units(const std::vector<double>& numbers) {
  constexpr double kMost = 1e12;  // larger than the units can express
  return std::any_of(numbers.begin(), numbers.end(), [](double n) { return std::abs(n) >= kWhole; }) &&
         std::all_of(numbers.begin(), numbers.end(), [](double n) { return std::abs(n) < kMost; });
}

}  // namespace

std::string count_text(double count, int digits) {
  return count < kWhole ? whole_text(count) : with_unit(count, digits);
}

std::string number_or_dash(const std::optional<double>& number) {
  return number ? fmt::format("{:.4g}", *number) : "-";
}

std::vector<std::string> count_texts(const std::vector<double>& counts, int digits) {
  const bool has_units = have_units(counts);
  std::vector<std::string> texts;
  for (const double count : counts) texts.push_back(has_units ? with_unit(count, digits) : whole_text(count));
  return texts;
}

std::vector<std::string> tick_texts(const std::vector<double>& ticks) {
  constexpr int kDigits = 4;
  const bool has_units = have_units(ticks);
  std::vector<std::string> texts;
  for (const double tick : ticks)
    texts.push_back(has_units && std::abs(tick) >= 1000 ? with_unit(tick, kDigits) : fmt::format("{:.6g}", tick));
  return texts;
}

}  // namespace kb
