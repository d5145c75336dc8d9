#include "recipes/report/shades.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kb {
namespace {

struct Color {
  double red, green, blue;
};
constexpr Color kShades[] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};

}  // namespace

std::string shade_at(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * (std::size(kShades) - 1);
  const size_t below = std::min(static_cast<size_t>(place), std::size(kShades) - 2);
  const double part = place - static_cast<double>(below);
  const Color &a = kShades[below], &b = kShades[below + 1];
  const auto mix = [&](double from, double to) { return std::lround(from + part * (to - from)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue));
}

bool DecadeScale::has(double value) { return value > 0 && std::isfinite(value); }

void DecadeScale::take(double value) {
  if (!has(value)) return;
  low = std::min(low, std::log10(value));
  high = std::max(high, std::log10(value));
}

double DecadeScale::share(double value) const { return high > low ? (std::log10(value) - low) / (high - low) : 0.5; }

double DecadeScale::value(double share) const { return std::pow(10, low + share * (high - low)); }

}  // namespace kb
