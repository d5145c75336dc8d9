// Writes files so that a reader finds them complete or not at all: they get a temporary name first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace kb {

/// Writes the file. Throws DataError with the path and the system's reason.
void write_whole_file(const std::filesystem::path& path, std::span<const uint8_t> bytes);

/// A file that is written from front to back; a later process may continue it.
class GrowingFile {
 public:
  /// Opens the file, which is made if it is missing and keeps its content, and locks it. All functions throw DataError.
  /// This one does also when another process is writing the file or has just renamed it.
  explicit GrowingFile(const std::filesystem::path& path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Cuts the file to its first `bytes` bytes. Throws DataError when it is shorter.
  void keep(uint64_t bytes);
  void append(std::span<const uint8_t> bytes);
  /// Overwrites bytes that exist.
  void overwrite(uint64_t at, std::span<const uint8_t> bytes);
  /// Waits until the whole file is on the disk.
  void flush();

 private:
  void write(uint64_t at, std::span<const uint8_t> bytes);
  [[noreturn]] void fail(const std::string& reason) const;
  [[noreturn]] void fail() const;  // says the reason of errno

  std::filesystem::path path_;
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace kb
