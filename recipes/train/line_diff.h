// Differences between two texts, line by line, for people: graphs, lists of flags.
#pragma once
#include <string>
#include <string_view>

namespace kb {

// "- line of the first" and "+ line of the second", in order, at most `most` of them and a count of the rest. The
// numbers of values ("%12") align nothing and differ nowhere, unless the texts differ in nothing else.
std::string line_diff(std::string_view first, std::string_view second, size_t most = 20);

}  // namespace kb
