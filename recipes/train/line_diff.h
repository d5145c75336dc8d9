// Shows people the differences between two texts, such as graphs or lists of flags, line by line.
#pragma once
#include <string>
#include <string_view>

namespace kb {

// Returns the lines that differ, in order: "- line of the first text" and "+ line of the second". At most `most` lines
// are shown, then the number of further ones. The numbers of a graph's values ("%12") are ignored, unless the texts
// differ in nothing else. Empty if the texts are equal.
std::string line_diff(std::string_view first, std::string_view second, size_t most = 20);

}  // namespace kb
