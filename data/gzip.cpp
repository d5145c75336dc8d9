#include "data/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <new>

#include "data/error.h"

namespace kb {
namespace {

constexpr const char* kDownloadAgain = "the file is damaged: fetch it again";

std::vector<uint8_t> read_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) throw DataError({path.string(), "cannot be read", "a readable file", error.message(), ""});
  std::vector<uint8_t> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size)) {
    throw DataError({path.string(), "cannot be read to its end", fmt::format("{} bytes", size),
                     fmt::format("{} bytes", file.gcount()), ""});
  }
  return bytes;
}

/// Closes zlib's state on every way out.
class Inflater {
 public:
  explicit Inflater(std::vector<uint8_t>& packed) {
    stream_.next_in = packed.data();
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream* operator->() { return &stream_; }
  z_stream* get() { return &stream_; }

 private:
  z_stream stream_ = {};
};

std::vector<uint8_t> unpack(const std::filesystem::path& path, std::vector<uint8_t> packed) {
  constexpr size_t kChunk = size_t{1} << 20;  // both of zlib's counters are 32 bits wide
  const uint8_t* const end = packed.data() + packed.size();
  Inflater inflater(packed);
  std::vector<uint8_t> out;
  size_t used = 0;
  while (true) {
    out.resize(std::max(out.size(), used + kChunk));
    inflater->next_out = out.data() + used;
    inflater->avail_out = kChunk;
    inflater->avail_in = static_cast<uInt>(std::min<size_t>(kChunk, end - inflater->next_in));
    const int status = inflate(inflater.get(), Z_NO_FLUSH);
    used = inflater->next_out - out.data();
    const size_t at = inflater->next_in - packed.data();
    if (status == Z_STREAM_END) {
      if (at == packed.size()) break;
      inflateReset(inflater.get());  // another member follows
    } else if (status == Z_BUF_ERROR || (status == Z_OK && at == packed.size() && inflater->avail_out > 0)) {
      throw DataError({path.string(), "the gzip file is truncated", "an end mark, a checksum and a length",
                       fmt::format("the end of the file after {} bytes ({} unpacked)", packed.size(), used),
                       kDownloadAgain});
    } else if (status != Z_OK) {
      throw DataError({path.string(), "the gzip file is corrupt", "a valid gzip stream",
                       fmt::format("{} at byte {}", inflater->msg ? inflater->msg : "an unknown fault", at),
                       kDownloadAgain});
    }
  }
  out.resize(used);
  return out;
}

}  // namespace

std::vector<uint8_t> read_unpacked(const std::filesystem::path& path) {
  std::vector<uint8_t> bytes = read_bytes(path);
  if (path.extension() != ".gz") return bytes;
  if (bytes.size() >= 2 && (bytes[0] != 0x1f || bytes[1] != 0x8b)) {
    throw DataError({path.string(), "not a gzip file", "the first bytes 1f 8b",
                     fmt::format("{:02x} {:02x}", bytes[0], bytes[1]),
                     "if it is already unpacked, take '.gz' off its name"});
  }
  return unpack(path, std::move(bytes));
}

}  // namespace kb
