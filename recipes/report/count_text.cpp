#include "recipes/report/count_text.h"

#include <fmt/format.h>

#include <utility>

namespace kb {

std::string count_text(double count, int digits) {
  constexpr double kWhole = 99999.5;
  if (count < kWhole) return count < 10 ? fmt::format("{:.2g}", count) : fmt::format("{:.0f}", count);
  for (const auto& [unit, name] : {std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}})
    if (count >= unit) return fmt::format("{:.{}g}{}", count / unit, digits, name);
  return "";
}

}  // namespace kb
