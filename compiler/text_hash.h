// A 64-bit hash of a text as 16 hexadecimal digits, which names kernels and schedules. Every build gives equal hashes.
#pragma once
#include <string>
#include <string_view>

namespace kb {

std::string text_hash(std::string_view text);

}  // namespace kb
