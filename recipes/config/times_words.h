// Words of --times (Synchronising::times): distributions, or the path of a file.
#pragma once
#include <string_view>

namespace kb {

// The word before the spread of a lognormal distribution, as in "lognormal:0.5".
inline constexpr std::string_view kLognormalTimes = "lognormal:";

// Returns whether the times of gradients come from a file: its path has a '/' or a '.'.
inline bool names_file(std::string_view times) {
  return !times.starts_with(kLognormalTimes) && times.find_first_of("/.") != std::string_view::npos;
}

}  // namespace kb
