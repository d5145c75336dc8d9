#include "runtime/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "graph/error.h"
#include "runtime/file_error.h"

namespace kb {

const char* kind_of_file(unsigned mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

// With O_NONBLOCK a FIFO that nobody writes is opened at once, and then refused. Regular files do not heed the flag.
InputFile::InputFile(const std::filesystem::path& path)
    : InputFile(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}

InputFile::InputFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
  struct stat status;
  if (descriptor_ < 0) throw_file_error("read", path_, errno);
  const int error = ::fstat(descriptor_, &status) != 0 ? errno : 0;
  if (error == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<size_t>(status.st_size);
    return;
  }
  ::close(descriptor_);  // no destructor runs after a constructor that throws
  if (error != 0) throw_file_error("read", path_, error);
  throw FileError(fmt::format("cannot read {}: expected a file, got {}", path_.string(), kind_of_file(status.st_mode)));
}

InputFile::~InputFile() { ::close(descriptor_); }

size_t InputFile::read_some(size_t begin, void* out, size_t bytes) const {
  size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got =
        ::pread(descriptor_, static_cast<char*>(out) + filled, bytes - filled, static_cast<off_t>(begin + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path_, errno);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

void InputFile::read(size_t begin, void* out, size_t bytes) const {
  const size_t got = read_some(begin, out, bytes);
  if (got < bytes)
    throw Error(fmt::format("cannot read {}: it ends after {} bytes, of which {} were expected", path_.string(),
                            begin + got, begin + bytes));
}

std::string InputFile::read(size_t begin, size_t bytes) const {
  std::string text(bytes, '\0');
  read(begin, text.data(), bytes);
  return text;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found;
}

std::string read_file(const std::filesystem::path& path) {
  const InputFile file(path);
  std::string content(file.size(), '\0');
  content.resize(file.read_some(0, content.data(), content.size()));
  // Continues past the size that the file had when it was opened: it may have grown, or have no size (/proc).
  constexpr size_t kMore = 4096;
  for (size_t got = kMore; got == kMore;) {
    const size_t filled = content.size();
    content.resize(filled + kMore);
    got = file.read_some(filled, content.data() + filled, kMore);
    content.resize(filled + got);
  }
  return content;
}

}  // namespace kb
