#include "runtime/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "graph/error.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

// Some file systems cannot flush a directory and say EINVAL: there the rename alone has to do.
void flush_directory(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// The file behind symbolic links, which stay. A rename would put a file in the place of a device or a FIFO: these are
// refused, and nothing is written.
std::filesystem::path checked(const std::filesystem::path& target) {
  struct stat status;
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_file_error("write", target, errno);
    return target;
  }
  if (!S_ISREG(status.st_mode))
    throw Error(fmt::format("cannot write {}: expected a file, or none yet, got {}", target.string(),
                            kind_of_file(status.st_mode)));
  std::error_code error;
  const bool is_link = std::filesystem::is_symlink(target, error);
  const std::filesystem::path real = is_link ? std::filesystem::canonical(target, error) : target;
  return error ? target : real;
}

// Whether a call failed as a file system does that has no such thing.
bool is_not_known(int reason) {
  return reason == EPERM || reason == EINVAL || reason == EOPNOTSUPP || reason == ENOSYS;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target, int64_t bytes, unsigned mode)
    : target_(checked(target)), bytes_(bytes) {
  // A file of this name left by a killed process with our number is stepped over, not overwritten.
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = target_;
    temporary_ += fmt::format(".{}.{}.tmp", ::getpid(), attempt);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ < 0 && errno != EEXIST) fail();
  }
  if (bytes_ > 0) set_aside();
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(temporary_.c_str());
}

// The file keeps its length of 0: one that was cut short by a crash shows it. File systems that cannot set room aside
// are left to find out by writing.
void AtomicFile::set_aside() {
  if (::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, bytes_) == 0) return;
  const int reason = errno;
  if (reason != ENOSPC && reason != EDQUOT && reason != EFBIG) return;
  discard();  // no destructor runs for an object that was not made
  throw_file_error("write", target_, reason, bytes_);
}

void AtomicFile::fail() const { throw_file_error("write", target_, errno, bytes_); }

void AtomicFile::write(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, p, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    p += written, bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  ensure(descriptor_ >= 0, "AtomicFile::commit called twice");
  if (::fsync(descriptor_) != 0) fail();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  // After the rename nothing is left to undo; an error of close was reported by fsync already.
  ::close(std::exchange(descriptor_, -1));
  flush_directory(target_.parent_path());
}

bool AtomicFile::commit_new() {
  ensure(descriptor_ >= 0, "AtomicFile::commit_new called twice");
  if (::fsync(descriptor_) != 0) fail();
  int reason = ::link(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  if (is_not_known(reason))
    reason = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  const bool is_empty = is_not_known(reason) && (reason = make_empty()) == 0;
  if (is_empty || (reason == EEXIST && is_abandoned())) {
    commit();
    return true;
  }
  discard();
  if (reason == EEXIST) return false;
  if (reason != 0) throw_file_error("write", target_, reason, bytes_);
  flush_directory(target_.parent_path());
  return true;
}

// Of several processes one makes the target, and alone renames over it.
int AtomicFile::make_empty() const {
  const int descriptor = ::open(target_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const int reason = errno;
  if (descriptor < 0) return reason;
  ::close(descriptor);
  return 0;
}

// Both times are the file system's own.
bool AtomicFile::is_abandoned() const {
  struct stat own {
  }, there{};
  return ::fstat(descriptor_, &own) == 0 && ::lstat(target_.c_str(), &there) == 0 && S_ISREG(there.st_mode) &&
         there.st_size == 0 && own.st_mtim.tv_sec - there.st_mtim.tv_sec > kAbandonedSeconds;
}

void write_file_atomically(const std::filesystem::path& target, std::string_view content, unsigned mode) {
  AtomicFile file(target, std::ssize(content), mode);
  file.write(content);
  file.commit();
}

bool write_file_once(const std::filesystem::path& target, std::string_view content) {
  AtomicFile file(target, std::ssize(content));
  file.write(content);
  return file.commit_new();
}

}  // namespace kb
