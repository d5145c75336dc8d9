// Counts in few letters: "12345", "123.4k", "1.235M", "12.35G"; and the numbers of an axis.
#pragma once
#include <string>
#include <vector>

namespace kb {

// Whole below 100,000; `digits` significant ones of a greater count.
std::string count_text(double count, int digits = 4);

// Counts that stand beside each other, all of one kind: where one takes a unit, all from 1000 on do: "500", "50k",
// "100k", "1M"; `digits` significant ones with a unit.
std::vector<std::string> count_texts(const std::vector<double>& counts, int digits);

// Numbers beside the ticks of one axis, likewise.
std::vector<std::string> tick_texts(const std::vector<double>& ticks);

}  // namespace kb
