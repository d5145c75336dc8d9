#include "data/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "data/error.h"

namespace kb {

void write_whole_file(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::error_code error;
  try {
    GrowingFile file(temporary);
    file.keep(0);
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

namespace {

// Opens the file and locks it. Returns the descriptor, or -1 with errno set.
int open_locked(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return -1;
}

// Returns whether the path still leads to the open file. A writer may have renamed the file between open and lock.
bool leads_to(const std::filesystem::path& path, int descriptor) {
  struct stat open {
  }, there{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

}  // namespace

GrowingFile::GrowingFile(const std::filesystem::path& path) : path_(path), descriptor_(open_locked(path)) {
  if (descriptor_ < 0) fail();
  struct stat status {};
  if (leads_to(path, descriptor_) && ::fstat(descriptor_, &status) == 0) {
    size_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);  // no destructor runs after a constructor that throws
  fail("another process has just finished it");
}

GrowingFile::~GrowingFile() { ::close(descriptor_); }

void GrowingFile::keep(uint64_t bytes) {
  if (bytes > size_) fail(fmt::format("it has {} bytes of {} that were there", size_, bytes));
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail();
  size_ = bytes;
}

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

void GrowingFile::fail(const std::string& reason) const {
  throw DataError({path_.string(), "cannot be written", "", reason, ""});
}

void GrowingFile::fail() const {
  const int reason = errno;
  fail(reason == EWOULDBLOCK ? "another process writes it" : std::generic_category().message(reason));
}

}  // namespace kb
