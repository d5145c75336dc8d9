#include "runtime/three_digits.h"

#include <fmt/format.h>

#include <cmath>

namespace kb {

std::string three_digits(double value) {
  return std::abs(value) < kRoundsToThousand ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string with_unit(double value, std::span<const char* const> units) {
  size_t unit = 0;
  for (; value >= kRoundsToThousand && unit + 1 < units.size(); ++unit) value /= 1000;
  return three_digits(value) + units[unit];
}

}  // namespace kb
