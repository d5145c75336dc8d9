// A file of a data set, open for reading. Only a regular one: what is a FIFO, a device, a socket or a folder is refused
// by name, before anything could wait for it or take memory without end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "data/bytes.h"

namespace kb {

class DataFile {
 public:
  /// Throws DataError with the path and the reason, as `read` does.
  explicit DataFile(const std::filesystem::path& path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  /// In bytes, when it was opened.
  size_t size() const { return size_; }
  /// Bytes [begin, begin + bytes), which must be there: DataError also where the file is shorter by now. Several
  /// threads may read at once, as of the other.
  Bytes read(size_t begin, size_t bytes) const;
  /// As many bytes from `begin` on as `to` holds, which must be there.
  void read(size_t begin, std::span<uint8_t> to) const;

 private:
  std::string shrunk_hint(size_t end) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  size_t size_ = 0;
};

}  // namespace kb
