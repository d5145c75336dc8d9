// A file of a data set, open for reading. Only a regular file is accepted: a FIFO, a device, a socket or a folder is
// refused by name, before a read could wait for it or take endless memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "data/bytes.h"

namespace kb {

class DataFile {
 public:
  /// Opens the file. Throws DataError with the path and the reason, and so does `read`.
  explicit DataFile(const std::filesystem::path& path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  /// Returns the size in bytes that the file had when it was opened.
  size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  /// Returns bytes [begin, begin + bytes). Throws DataError when they are not there, also if the file has become
  /// shorter. Several threads may call both forms of `read` at once.
  Bytes read(size_t begin, size_t bytes) const;
  /// Fills `bytes` with the bytes from `begin` on.
  void read(size_t begin, std::span<uint8_t> bytes) const;

 private:
  std::string shrunk_hint(size_t end) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  size_t size_ = 0;
};

}  // namespace kb
