// Numbers for people to read.
#pragma once
#include <span>
#include <string>

namespace kb {

// From here on a number is 1000 in three digits.
inline constexpr double kRoundsToThousand = 999.5;

// Returns the number in three digits, and in as many as stand before its point: "0.0123", "12.3", "1234".
std::string three_digits(double value);

// Returns the number in three digits with the unit of its size. Each unit is a thousand of the one before: for " B",
// " kB" and " MB" 999,700 is "1 MB".
std::string with_unit(double value, std::span<const char* const> units);

}  // namespace kb
