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
#include "runtime/write_all.h"

namespace kb {
namespace {

// Flushes the directory of a file that was given its name. Some file systems cannot flush a directory and say EINVAL;
// on these the rename alone must do. Other errors mean that the name may be lost.
void flush_directory(const std::filesystem::path& target) {
  const std::filesystem::path directory = target.parent_path();
  const int descriptor = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error == EIO || error == ENOSPC || error == EDQUOT) throw_file_error("write", target, error);
}

// Returns the file that `target` leads to through symbolic links, which stay. Throws for a device or a FIFO, whose
// place a rename would give to a file.
std::filesystem::path checked(const std::filesystem::path& target) {
  struct stat status;
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_file_error("write", target, errno);
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    return error ? target : checked(target.parent_path() / next);
  }
  if (!S_ISREG(status.st_mode))
    throw Error(fmt::format("cannot write {}: expected a file, or none yet, got {}", target.string(),
                            kind_of_file(status.st_mode)));
  std::error_code error;
  const bool is_link = std::filesystem::is_symlink(target, error);
  const std::filesystem::path real = is_link ? std::filesystem::canonical(target, error) : target;
  return error ? target : real;
}

// Returns whether a call failed because the file system does not have this operation.
bool is_not_known(int reason) {
  return reason == EPERM || reason == EINVAL || reason == EOPNOTSUPP || reason == ENOSYS;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target, int64_t bytes, unsigned mode)
    : target_(checked(target)), bytes_(bytes) {
  // A killed process that had our number may have left a file of this name: it is not overwritten, and the next name is
  // tried.
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

// Sets disk space aside. The file keeps its length of 0, so that one cut short by a crash shows it. If the file system
// cannot set space aside, a full disk is found when writing.
void AtomicFile::set_aside() {
  if (::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, bytes_) == 0) return;
  const int reason = errno;
  if (reason != ENOSPC && reason != EDQUOT && reason != EFBIG) return;
  discard();  // no destructor runs after a constructor that throws
  throw_file_error("write", target_, reason, bytes_);
}

void AtomicFile::fail() const { throw_file_error("write", target_, errno, bytes_); }

void AtomicFile::write(const void* data, size_t bytes) { write_all(descriptor_, data, bytes, target_, bytes_); }

void AtomicFile::commit() {
  ensure(descriptor_ >= 0, "AtomicFile::commit called twice");
  if (::fsync(descriptor_) != 0) fail();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  // After the rename there is nothing to undo, and fsync has reported any error that close would.
  ::close(std::exchange(descriptor_, -1));
  flush_directory(target_);
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
  flush_directory(target_);
  return true;
}

// Makes the target empty. Of several processes one succeeds, and only that one renames over it.
int AtomicFile::make_empty() const {
  const int descriptor = ::open(target_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const int reason = errno;
  if (descriptor < 0) return reason;
  ::close(descriptor);
  return 0;
}

// Returns whether the target is empty and old. Both times come from the file system's clock.
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
