// Texts that may not be UTF-8, such as file names, in places where only characters are allowed.
//
// A byte that is no part of a UTF-8 character becomes the character U+10FE00 + byte, one for private use. If a text
// holds such a character itself, each of its four bytes becomes one. So every text can be converted back, and UTF-8 is
// not changed.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace kb {

// Returns the length in bytes, 1 to 4, of the character that the text begins with; 0 if it begins with none or is
// empty.
size_t utf8_length(std::string_view text);

std::string characters_of(std::string_view bytes);
std::string bytes_of(std::string characters);

}  // namespace kb
