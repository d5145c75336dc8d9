#include "data/text/unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace kb {
namespace {

struct PunctuationRange {
  char32_t first, last;
};
constexpr PunctuationRange kPunctuation[] = {
#include "data/text/unicode_punctuation.inc"
};

struct CapitalRange {
  char32_t first, last;
  uint32_t step;
  int32_t to_lower;
};
constexpr CapitalRange kCapitals[] = {
#include "data/text/unicode_capitals.inc"
};

/// Returns the range that holds the character, if one does. Ranges ascend.
template <class Range, size_t count>
const Range* find_range(const Range (&ranges)[count], char32_t character) {
  const auto after = std::upper_bound(std::begin(ranges), std::end(ranges), character,
                                      [](char32_t one, const Range& range) { return one < range.first; });
  return after == std::begin(ranges) || (after - 1)->last < character ? nullptr : after - 1;
}

char32_t lower(char32_t character) {
  const CapitalRange* range = find_range(kCapitals, character);
  if (!range || (character - range->first) % range->step != 0) return character;
  return static_cast<char32_t>(static_cast<int32_t>(character) + range->to_lower);
}

/// Returns how many bytes a character takes that begins with this byte; 0: none does.
size_t length_by_lead(uint8_t byte) {
  if (byte < 0x80) return 1;
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/// Returns the character that the text begins with, and its length in bytes; kReplacement of length 0: none.
char32_t read_character(std::string_view text, size_t& length) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // of a character of so many bytes
  const auto lead = static_cast<uint8_t>(text.front());
  const size_t bytes = length_by_lead(lead);
  length = 0;
  if (bytes == 0 || bytes > text.size()) return kReplacement;
  char32_t character = bytes == 1 ? lead : lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return kReplacement;
    character = character << 6 | (byte & 0x3f);
  }
  const bool is_half = character >= 0xd800 && character < 0xe000;  // of a pair in UTF-16
  if (character < kLeast[bytes] || character > 0x10ffff || is_half) return kReplacement;
  length = bytes;
  return character;
}

void append_character(char32_t character, std::string& to) {
  const size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  constexpr uint8_t kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  to += static_cast<char>(kLead[bytes] | character >> 6 * (bytes - 1));
  for (size_t i = bytes - 1; i-- > 0;) to += static_cast<char>(0x80 | (character >> 6 * i & 0x3f));
}

}  // namespace

char32_t take_character(std::string_view& text) {
  size_t length = 0;
  const char32_t character = read_character(text, length);
  text.remove_prefix(std::max<size_t>(length, 1));
  return character;
}

size_t find_no_character(std::string_view text) {
  for (size_t at = 0, length = 0; at < text.size(); at += length) {
    read_character(text.substr(at), length);
    if (length == 0) return at;
  }
  return std::string_view::npos;
}

bool is_space(char32_t character) {
  const bool is_control = (character >= 0x09 && character <= 0x0d) || (character >= 0x1c && character <= 0x1f);
  return is_control || character == 0x20 || character == 0x85 || character == 0xa0 || character == 0x1680 ||
         (character >= 0x2000 && character <= 0x200a) || character == 0x2028 || character == 0x2029 ||
         character == 0x202f || character == 0x205f || character == 0x3000;
}

bool is_punctuation(char32_t character) { return find_range(kPunctuation, character) != nullptr; }

std::string to_lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t character = take_character(text), small = lower(character);
    if (small == character)
      result.append(before.substr(0, before.size() - text.size()));
    else
      append_character(small, result);
  }
  return result;
}

}  // namespace kb
