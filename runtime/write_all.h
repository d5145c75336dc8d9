// Writes to a file descriptor as often as it takes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace kb {

// Writes all bytes to the open file, which is that of `path`. Throws FileError if the system refuses to; `needed` is
// what throw_file_error() tells for a full disk.
void write_all(int descriptor, const void* data, size_t bytes, const std::filesystem::path& path, int64_t needed = 0);

}  // namespace kb
