#include "data/gzip.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <memory>
#include <new>

#include "data/data_file.h"
#include "data/error.h"

namespace kb {
namespace {

[[noreturn]] void refuse_size(const std::filesystem::path& path, size_t most, const std::string& got) {
  throw DataError({path.string(), "larger than a file of this data set", fmt::format("at most {} bytes", most), got,
                   "is this another file?"});
}

/// Returns a guess at the unpacked size: the last four bytes of the file are the length of its last member, and there
/// is nearly always one member only. The guess is never more than deflate can make of so many bytes.
size_t guess_unpacked_size(const Bytes& packed) {
  constexpr size_t kLeast = size_t{64} << 10, kMostPerByte = 1032;
  uint32_t size = 0;
  for (size_t i = std::min<size_t>(packed.size(), 4); i > 0; --i) size = size >> 8 | uint32_t{packed.end()[-i]} << 24;
  return std::clamp<size_t>(size, kLeast, kLeast + kMostPerByte * packed.size());
}

Bytes unpack(const std::filesystem::path& path, const Bytes& packed, size_t most) {
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> decompressor(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!decompressor) throw std::bad_alloc();
  Bytes out(std::min(guess_unpacked_size(packed), most));
  size_t at = 0, used = 0;
  do {  // reads one member
    size_t member = 0, unpacked = 0;
    const libdeflate_result result =
        libdeflate_gzip_decompress_ex(decompressor.get(), packed.data() + at, packed.size() - at, out.data() + used,
                                      out.size() - used, &member, &unpacked);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      if (out.size() == most) refuse_size(path, most, "more, unpacked");
      out.resize(std::min(2 * out.size(), most));
      continue;
    }
    if (result != LIBDEFLATE_SUCCESS)
      throw DataError({path.string(), "the gzip file is truncated or corrupt",
                       "a valid stream to its end mark, with its checksum and length",
                       fmt::format("none at byte {} of {}", at, packed.size()), "the file is damaged: fetch it again"});
    at += member;
    used += unpacked;
  } while (at < packed.size());
  out.resize(used);
  return out;
}

}  // namespace

Bytes read_unpacked(const std::filesystem::path& path, size_t most) {
  const DataFile file(path);
  const bool is_packed = path.extension() == ".gz" || path.extension() == ".dz";
  // Deflate can make data longer, by a few bytes in ten thousand.
  if (file.size() / 2 > most || (!is_packed && file.size() > most))
    refuse_size(path, most, fmt::format("{} bytes", file.size()));
  Bytes bytes = file.read(0, file.size());
  if (!is_packed) return bytes;
  if (bytes.size() >= 2 && (bytes[0] != 0x1f || bytes[1] != 0x8b))
    throw DataError({path.string(), "not a gzip file", "the first bytes 1f 8b",
                     fmt::format("{:02x} {:02x}", bytes[0], bytes[1]),
                     "if it is already unpacked, take '.gz' off its name"});
  return unpack(path, bytes, most);
}

}  // namespace kb
