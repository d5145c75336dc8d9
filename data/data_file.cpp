#include "data/data_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "data/error.h"

namespace kb {
namespace {

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& got) {
  throw DataError({path.string(), "cannot be read", "a readable file", got, ""});
}

}  // namespace

// With O_NONBLOCK a FIFO that nobody writes is opened at once, and then refused. Regular files do not heed the flag.
DataFile::DataFile(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  struct stat status;
  if (descriptor_ < 0) refuse(path_, std::generic_category().message(errno));
  const int error = ::fstat(descriptor_, &status) != 0 ? errno : 0;
  if (error == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<size_t>(status.st_size);
    return;
  }
  ::close(descriptor_);  // no destructor runs after a constructor that throws
  refuse(path_, error != 0 ? std::generic_category().message(error) : kind_of(status.st_mode));
}

DataFile::~DataFile() { ::close(descriptor_); }

// Returns a hint that the file has been cut short, if it had at least `end` bytes when it was opened.
std::string DataFile::shrunk_hint(size_t end) const {
  if (end > size_) return "";
  return fmt::format("it had {} bytes when it was opened: another program has cut it short or is writing it anew",
                     size_);
}

Bytes DataFile::read(size_t begin, size_t bytes) const {
  Bytes content(bytes);
  read(begin, std::span(content));
  return content;
}

void DataFile::read(size_t begin, std::span<uint8_t> bytes) const {
  for (size_t filled = 0; filled < bytes.size();) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(begin + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path_, std::generic_category().message(errno));
    if (got == 0)
      throw DataError({path_.string(), "cannot be read to its end", fmt::format("{} bytes", begin + bytes.size()),
                       fmt::format("{} bytes", begin + filled), shrunk_hint(begin + bytes.size())});
    filled += static_cast<size_t>(got);
  }
}

}  // namespace kb
