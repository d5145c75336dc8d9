#include "compiler/text_hash.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace kb {

std::string text_hash(std::string_view text) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ text.size();
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    mix(word);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, text.data() + i, text.size() - i);
  mix(tail);
  mix(0x2545f4914f6cdd1du);
  return fmt::format("{:016x}", hash);
}

}  // namespace kb
