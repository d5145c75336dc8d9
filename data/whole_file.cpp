#include "data/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "data/error.h"

namespace kb {

void write_whole_file(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::error_code error;
  try {
    GrowingFile file(temporary, 0);
    file.append(bytes);
    file.flush();
  } catch (...) {
    std::filesystem::remove(temporary, error);
    throw;
  }
  std::filesystem::rename(temporary, path, error);
  if (!error) return;
  const std::string reason = error.message();
  std::filesystem::remove(temporary, error);
  throw DataError({path.string(), "cannot be written", "", reason, ""});
}

GrowingFile::GrowingFile(const std::filesystem::path& path, uint64_t keep)
    : path_(path), descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)), size_(keep) {
  if (descriptor_ < 0) fail();
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && ::ftruncate(descriptor_, static_cast<off_t>(keep)) == 0) return;
  const int reason = errno;
  ::close(descriptor_);  // no destructor runs for an object that was not made
  errno = reason;
  fail();
}

GrowingFile::~GrowingFile() { ::close(descriptor_); }

void GrowingFile::append(std::span<const uint8_t> bytes) {
  write(size_, bytes);
  size_ += bytes.size();
}

void GrowingFile::overwrite(uint64_t at, std::span<const uint8_t> bytes) { write(at, bytes); }

void GrowingFile::flush() {
  if (::fsync(descriptor_) != 0) fail();
}

void GrowingFile::write(uint64_t at, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail();
    at += static_cast<uint64_t>(done);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
}

void GrowingFile::fail() const {
  const int reason = errno;
  throw DataError({path_.string(), "cannot be written", "",
                   reason == EWOULDBLOCK ? "another process writes it" : std::generic_category().message(reason), ""});
}

}  // namespace kb
