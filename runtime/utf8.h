// Texts that may not be UTF-8, for names of files are bytes, where only characters may stand.
//
// As characters, a byte that is no part of a UTF-8 character is U+10FE00 + byte, one for private use; of a text that
// holds such a character itself each of its four bytes is. So the bytes of every text come back, and UTF-8 stays as it
// is.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace kb {

// Returns the bytes of the character that the text begins with, 1 to 4; 0 where it begins with none, is empty included.
size_t utf8_length(std::string_view text);

std::string characters_of(std::string_view bytes);
std::string bytes_of(std::string characters);

}  // namespace kb
