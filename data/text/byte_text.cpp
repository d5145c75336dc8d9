#include "data/text/byte_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/content_hash.h"
#include "data/error.h"
#include "data/gzip.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLeastBytes = 200;

class ByteTokens : public TokenSequence {
 public:
  ByteTokens(std::shared_ptr<const Bytes> bytes, int64_t begin, int64_t end)
      : bytes_(std::move(bytes)), begin_(begin), end_(end) {}

  int64_t count() const override { return end_ - begin_; }
  void copy(int64_t begin, std::span<int32_t> to) const override {
    std::copy_n(bytes_->begin() + begin_ + begin, to.size(), to.begin());
  }

 private:
  std::shared_ptr<const Bytes> bytes_;
  int64_t begin_, end_;
};

/// Returns the regular files below a folder, sorted by path; of another path, itself.
std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error)) files.push_back(at->path());
  if (error) throw DataError({path.string(), "cannot be listed: " + error.message(), "", "", ""});
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TokenText byte_text(std::string name, Bytes bytes, int64_t test_bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  if (test_bytes < 1 || test_bytes >= count)
    throw DataError({name, "a text has two parts", fmt::format("a test part of 1 to {} bytes", count - 1),
                     fmt::format("{} bytes", test_bytes), ""});
  const uint64_t hash = content_hash(static_cast<uint64_t>(test_bytes), bytes.data(), bytes.size());
  const auto all = std::make_shared<const Bytes>(std::move(bytes));
  const int64_t train = count - test_bytes;
  return {.name = std::move(name),
          .fingerprint = fmt::format("{:016x}", hash),
          .vocabulary = kByteVocabulary,
          .are_bytes = true,
          .train = std::make_shared<ByteTokens>(all, 0, train),
          .test = std::make_shared<ByteTokens>(all, train, count)};
}

TokenText read_byte_text(const fs::path& path) {
  Bytes all;
  for (const fs::path& file : files_of(path)) {
    const Bytes bytes = read_unpacked(file);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  if (all.size() < kLeastBytes)
    throw DataError({path.string(), "too short to learn from", fmt::format("{} bytes of text or more", kLeastBytes),
                     fmt::format("{} bytes", all.size()), ""});
  const auto test_bytes = static_cast<int64_t>((all.size() + 99) / 100);
  return byte_text(path.filename().empty() ? path.parent_path().filename().string() : path.filename().string(),
                   std::move(all), test_bytes);
}

}  // namespace kb
