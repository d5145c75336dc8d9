// Characters of UTF-8 texts and what Unicode 14 says of them: spaces, punctuation, lower case. Nothing depends on the
// locale or the C library, so a text becomes the same tokens on every machine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kb {

constexpr char32_t kReplacement = 0xfffd;  ///< stands for a byte that is no part of a character

/// Takes the first character off a text, which is not empty. If no character begins there (RFC 3629), takes
/// one byte and returns kReplacement.
char32_t take_character(std::string_view& text);

/// Returns the position of the first byte that is no part of a character; npos: the text is UTF-8.
size_t find_no_character(std::string_view text);

/// Returns whether the character separates words: Unicode's White_Space and the separators U+001C to U+001F, as
/// Python's str.split takes them.
bool is_space(char32_t character);

/// Returns whether the character is punctuation or a symbol (general categories P and S).
bool is_punctuation(char32_t character);

/// Returns the text with every character in lower case, by Unicode's simple mapping. Other bytes stay.
std::string to_lower_case(std::string_view text);

}  // namespace kb
