// A file whose bytes are mapped into memory: the system reads them when they are looked at, and may drop them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace kb {

class MappedFile {
 public:
  /// Maps the file. Throws DataError with the path and the reason. The file must keep its length meanwhile.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Returns the bytes, which begin at the boundary of a page.
  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(memory_), size_}; }

 private:
  void* memory_ = nullptr;  // null for an empty file
  size_t size_ = 0;
};

}  // namespace kb
