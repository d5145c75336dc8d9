#include "runtime/kernel_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>

#include "runtime/sha256.h"

namespace kb {
namespace {

struct Sizes {
  char magic[16];
  uint64_t image;
  uint64_t description;
};
constexpr char kMagic[16] = "kilobatch .so 1";
constexpr size_t kDigestBytes = 32;
constexpr size_t kFooterBytes = sizeof(Sizes) + kDigestBytes;

std::string digest_bytes(std::string_view first, std::string_view second) {
  Sha256 hash;
  hash.update(first);
  hash.update(second);
  const Sha256::Digest digest = hash.digest();
  return std::string(digest.begin(), digest.end());
}

std::string describe(const KernelEntry& entry) {
  return fmt::format("processor {}\ncompiler {}\nkeys {}\n", entry.processor, entry.compiler,
                     fmt::join(entry.keys, " "));
}

KernelEntry parse_description(std::string_view text) {
  KernelEntry entry;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, space), value = line.substr(std::min(space + 1, line.size()));
    if (name == "processor") entry.processor = value;
    if (name == "compiler") entry.compiler = value;
    if (name != "keys") continue;
    std::istringstream keys(value);
    for (std::string key; keys >> key;) entry.keys.push_back(key);
  }
  return entry;
}

}  // namespace

std::string make_trailer(std::string_view image, const KernelEntry& entry) {
  std::string trailer = describe(entry);
  Sizes sizes{.magic = {}, .image = image.size(), .description = trailer.size()};
  std::memcpy(sizes.magic, kMagic, sizeof kMagic);
  trailer.append(reinterpret_cast<const char*>(&sizes), sizeof sizes);
  return trailer + digest_bytes(image, trailer);
}

CheckedEntry check_entry(std::string_view file) {
  if (file.size() < kFooterBytes) return {.entry = {}, .damage = fmt::format("only {} bytes long", file.size())};
  const std::string_view hashed = file.substr(0, file.size() - kDigestBytes);
  Sizes sizes;
  std::memcpy(&sizes, hashed.data() + hashed.size() - sizeof sizes, sizeof sizes);
  if (std::memcmp(sizes.magic, kMagic, sizeof kMagic) != 0)
    return {.entry = {}, .damage = "no trailer: cut off, or not written by Kilobatch"};
  if (digest_bytes(hashed, {}) != file.substr(hashed.size()))
    return {.entry = {}, .damage = "content differs from its hash"};
  const size_t body = hashed.size() - sizeof sizes;
  if (sizes.image > body || sizes.description != body - sizes.image)
    return {.entry = {}, .damage = "sizes in the trailer are wrong"};
  return {.entry = parse_description(hashed.substr(sizes.image, sizes.description)),
          .damage = {},
          .image_bytes = sizes.image};
}

}  // namespace kb
