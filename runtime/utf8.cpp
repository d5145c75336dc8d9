#include "runtime/utf8.h"

#include <algorithm>
#include <cstdint>

namespace kb {
namespace {

// A range of first bytes: the length of a character that begins with one, and the bounds of its second byte. The bounds
// exclude longer forms than a character needs, halves of UTF-16 pairs, and numbers beyond 0x10FFFF.
struct LeadRow {
  uint8_t first, last;  // range of first bytes
  uint8_t length;
  uint8_t low, high;  // bounds of the second byte
};
constexpr LeadRow kLeads[] = {{0x00, 0x7f, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
                              {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
                              {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f}};

// The begin of U+10FE00 + byte in UTF-8, for bytes from 0x80 on.
constexpr std::string_view kByteLead = "\xf4\x8f";
constexpr int kByteThird = 0xb8;  // ored with the byte's highest two bits
constexpr size_t kByteLength = 4;

std::string character_of(char byte) {
  const auto bits = static_cast<uint8_t>(byte);
  return std::string(kByteLead) + static_cast<char>(kByteThird | bits >> 6) + static_cast<char>(0x80 | (bits & 0x3f));
}

bool stands_for_byte(std::string_view text) {
  return text.starts_with(kByteLead) && utf8_length(text) == kByteLength &&
         (static_cast<uint8_t>(text[2]) & 0xfe) == (kByteThird | 2);
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (const LeadRow& row : kLeads) {
    if (byte(0) < row.first || byte(0) > row.last) continue;
    if (row.length == 1) return 1;
    if (text.size() < row.length || byte(1) < row.low || byte(1) > row.high) return 0;
    for (size_t i = 2; i < row.length; ++i)
      if ((byte(i) & 0xc0) != 0x80) return 0;
    return row.length;
  }
  return 0;
}

std::string characters_of(std::string_view bytes) {
  std::string characters;
  while (!bytes.empty()) {
    const size_t length = stands_for_byte(bytes) ? 0 : utf8_length(bytes);
    if (length > 0)
      characters.append(bytes.substr(0, length));
    else
      characters += character_of(bytes.front());
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return characters;
}

std::string bytes_of(std::string characters) {
  if (characters.find(kByteLead) == std::string::npos) return characters;
  std::string bytes;
  for (std::string_view rest = characters; !rest.empty();) {
    const bool is_byte = stands_for_byte(rest);
    bytes += is_byte ? static_cast<char>((rest[2] & 0x03) << 6 | (rest[3] & 0x3f)) : rest.front();
    rest.remove_prefix(is_byte ? kByteLength : 1);
  }
  return bytes;
}

}  // namespace kb
