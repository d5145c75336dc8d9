#include "runtime/write_all.h"

#include <unistd.h>

#include <cerrno>

#include "runtime/file_error.h"

namespace kb {

void write_all(int descriptor, const void* data, size_t bytes, const std::filesystem::path& path, int64_t needed) {
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t written = ::write(descriptor, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_file_error("write", path, errno, needed);
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

}  // namespace kb
