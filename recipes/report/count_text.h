// Counts in few letters: "12345", "123.4k", "1.235M", "12.35G".
#pragma once
#include <string>

namespace kb {

// Whole below 100,000; `digits` significant ones of a greater count.
std::string count_text(double count, int digits = 4);

}  // namespace kb
