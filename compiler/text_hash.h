// A 64-bit hash of a text as 16 hex digits: names of kernels and schedules. The same in every build.
#pragma once
#include <string>
#include <string_view>

namespace kb {

std::string text_hash(std::string_view text);

}  // namespace kb
