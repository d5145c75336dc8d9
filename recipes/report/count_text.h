// Short texts of counts, such as "12345", "123.4k", "1.235M" and "12.35G", and of the numbers of an axis.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace kb {

// Returns a whole number if the count is below 100,000, else `digits` significant digits and a unit.
std::string count_text(double count, int digits = 4);

// Returns a number with four significant digits; "-" if there is none.
std::string number_or_dash(const std::optional<double>& number);

// Returns the texts of counts that stand beside each other: if one needs a unit, all from 1000 on have one ("500",
// "50k", "100k", "1M"). A count with a unit has `digits` significant digits.
std::vector<std::string> count_texts(const std::vector<double>& counts, int digits);

// Returns the numbers beside the ticks of one axis, with units by the rule of count_texts().
std::vector<std::string> tick_texts(const std::vector<double>& ticks);

}  // namespace kb
