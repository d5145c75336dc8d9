#include "data/text/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "data/class_folders.h"
#include "data/content_hash.h"
#include "data/data_file.h"
#include "data/error.h"
#include "data/mapped_file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);

struct TokenFormat {
  int32_t magic, version;
  size_t bytes;  // size of a token
};
constexpr TokenFormat kFormats[] = {{20240520, 1, 2}, {20240801, 7, 4}};

const TokenFormat* format_of(int32_t magic) {
  for (const TokenFormat& format : kFormats)
    if (format.magic == magic) return &format;
  return nullptr;
}

/// Returns the magic number of a regular file, or 0.
int32_t magic_of(const fs::path& path) {
  std::error_code error;
  int32_t magic = 0;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) < kHeaderBytes) return 0;
  DataFile(path).read(0, {reinterpret_cast<uint8_t*>(&magic), sizeof magic});
  return magic;
}

/// The tokens of one file, or a part of them.
class FileTokens : public TokenSequence {
 public:
  explicit FileTokens(const fs::path& path) : file_(std::make_shared<const MappedFile>(path)) {
    int32_t header[3] = {};
    const std::span<const uint8_t> bytes = file_->bytes();
    if (bytes.size() >= kHeaderBytes) std::memcpy(header, bytes.data(), sizeof header);
    const TokenFormat* format = format_of(header[0]);
    if (!format || header[1] != format->version)
      throw DataError({path.string(), "not a file of tokens of llm.c",
                       "the magic number 20240520 with version 1, or 20240801 with version 7",
                       fmt::format("{} with version {}", header[0], header[1]), ""});
    bytes_ = format->bytes;
    end_ = header[2];
    const size_t expected = kHeaderBytes + static_cast<size_t>(std::max(0, header[2])) * bytes_;
    if (header[2] < 1 || bytes.size() != expected)
      throw DataError({path.string(), "the file of tokens is truncated or damaged",
                       fmt::format("{} bytes for the {} tokens that its header tells", expected, header[2]),
                       fmt::format("{} bytes", bytes.size()), "make or fetch it again"});
  }

  int64_t count() const override { return end_ - begin_; }
  void copy(int64_t begin, std::span<int32_t> to) const override {
    const uint8_t* from = at(begin);
    for (size_t i = 0; i < to.size(); ++i) {
      uint32_t token = 0;
      std::memcpy(&token, from + i * bytes_, bytes_);
      to[i] = static_cast<int32_t>(token);
    }
  }
  FileTokens part(int64_t begin, int64_t end) const {
    FileTokens part = *this;
    part.begin_ = begin_ + begin;
    part.end_ = begin_ + end;
    return part;
  }
  uint64_t hash(uint64_t key) const { return content_hash(key, at(0), static_cast<size_t>(count()) * bytes_); }

 private:
  const uint8_t* at(int64_t token) const {
    return file_->bytes().data() + kHeaderBytes + static_cast<size_t>(begin_ + token) * bytes_;
  }

  std::shared_ptr<const MappedFile> file_;
  size_t bytes_ = 0;  // size of a token
  int64_t begin_ = 0, end_ = 0;
};

/// The tokens of several files, one after another.
class JoinedTokens : public TokenSequence {
 public:
  explicit JoinedTokens(std::vector<FileTokens> files) : files_(std::move(files)) {
    for (const FileTokens& file : files_) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + file.count());
  }

  int64_t count() const override { return ends_.back(); }
  void copy(int64_t begin, std::span<int32_t> to) const override {
    auto file = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
    for (; !to.empty(); ++file) {
      const int64_t first = begin - (ends_[file] - files_[file].count());
      const auto length = static_cast<size_t>(std::min(files_[file].count() - first, std::ssize(to)));
      files_[file].copy(first, to.first(length));
      to = to.subspan(length);
      begin += static_cast<int64_t>(length);
    }
  }
  uint64_t hash(uint64_t key) const {
    for (const FileTokens& file : files_) key = file.hash(key);
    return key;
  }

 private:
  std::vector<FileTokens> files_;
  std::vector<int64_t> ends_;  // one more than the last token of each file
};

std::vector<fs::path> token_files_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (const std::string& name : names_in(path, "a folder with files of tokens"))
    if (format_of(magic_of(path / name))) files.push_back(path / name);
  return files;
}

/// Moves the last hundredth of the tokens from `train` to `test`, from the last file. That of several files is moved
/// whole if it has no more.
void split_last(std::vector<FileTokens>& train, std::vector<FileTokens>& test) {
  int64_t count = 0;
  for (const FileTokens& file : train) count += file.count();
  const FileTokens last = train.back();
  const int64_t length = std::min((count + 99) / 100, last.count() - (train.size() > 1 ? 0 : 1));
  if (length < 1) return;
  train.pop_back();
  if (length < last.count()) train.push_back(last.part(0, last.count() - length));
  test.push_back(last.part(last.count() - length, last.count()));
}

}  // namespace

bool has_token_files(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return format_of(magic_of(path)) != nullptr;
  return !token_files_of(path).empty();
}

TokenText open_token_files(const fs::path& path, int64_t vocabulary) {
  std::vector<FileTokens> train, test;
  for (const fs::path& file : token_files_of(path))
    (file.filename().string().find("_val") != std::string::npos ? test : train).emplace_back(file);
  if (train.empty()) std::swap(train, test);
  if (train.empty())
    throw DataError({path.string(), "holds no file of tokens", "files as llm.c writes them", "none", ""});
  if (test.empty()) split_last(train, test);
  if (test.empty()) throw DataError({path.string(), "too few tokens", "two or more", "one", ""});
  const auto trained = std::make_shared<const JoinedTokens>(std::move(train));
  const auto tested = std::make_shared<const JoinedTokens>(std::move(test));
  return {.name = path.filename().empty() ? path.parent_path().filename().string() : path.filename().string(),
          .fingerprint = fmt::format("{:016x}", tested->hash(trained->hash(static_cast<uint64_t>(trained->count())))),
          .vocabulary = vocabulary,
          .train = trained,
          .test = tested};
}

}  // namespace kb
