// Files that this room writes: whole or not at all, under a temporary name first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace kb {

/// Throws DataError with the path and the system's reason.
void write_whole_file(const std::filesystem::path& path, std::span<const uint8_t> bytes);

/// A file that is written from front to back, and may be gone on with.
class GrowingFile {
 public:
  /// Makes the file where it is missing, and locks it. Its content stays. Throws DataError, as the others do, also
  /// where another process writes it, or has just given it another name.
  explicit GrowingFile(const std::filesystem::path& path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Leaves the first `bytes` bytes. Throws DataError where the file is shorter.
  void keep(uint64_t bytes);
  void append(std::span<const uint8_t> bytes);
  /// Overwrites bytes that are there.
  void overwrite(uint64_t at, std::span<const uint8_t> bytes);
  /// Waits until all of it is on the disk.
  void flush();

 private:
  void write(uint64_t at, std::span<const uint8_t> bytes);
  [[noreturn]] void fail(const std::string& reason) const;
  [[noreturn]] void fail() const;  // by errno

  std::filesystem::path path_;
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace kb
