#include "runtime/trusted_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>

#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

std::string text_of(int error_number) { return std::generic_category().message(error_number); }

// Returns why another user could have written the file; "" if none could. Access control lists show in the group's
// bits, so that a right to write given by one is seen too.
std::string stranger(const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fmt::format("it belongs to user {}, and this is user {}", status.st_uid, ::geteuid());
  const bool replaceable = !S_ISDIR(status.st_mode) || (status.st_mode & S_ISVTX) == 0;
  if (replaceable && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others than its owner may write it (mode {:o})", status.st_mode & 07777);
  return "";
}

// Returns this process's one descriptor for the folder that `descriptor` is open on; closes `descriptor` if that is
// another.
int kept_open(int descriptor, const struct stat& status) {
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, int> kept;
  const std::scoped_lock lock(mutex);
  const auto [at, is_new] = kept.try_emplace({status.st_dev, status.st_ino}, descriptor);
  if (!is_new) ::close(descriptor);
  return at->second;
}

}  // namespace

TrustedFile::TrustedFile(const fs::path& path) : TrustedFile(AT_FDCWD, path) {}

// With O_NONBLOCK a pipe that nobody writes is opened at once, and then refused.
TrustedFile::TrustedFile(int folder, fs::path path) : path_(std::move(path)) {
  const fs::path name = folder == AT_FDCWD ? path_ : path_.filename();
  descriptor_ = ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor_ < 0 && errno != ENOENT)
    refusal_ = errno == ELOOP ? "it is a symbolic link" : text_of(errno);
  else if (descriptor_ >= 0 && ::fstat(descriptor_, &status_) != 0)
    refusal_ = text_of(errno);
  else if (descriptor_ >= 0)
    refusal_ = S_ISREG(status_.st_mode) ? stranger(status_) : "it is not a regular file";
}

TrustedFile::~TrustedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string TrustedFile::read() const {
  return InputFile(path_, ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)).read(0, static_cast<size_t>(status_.st_size));
}

TrustedFolder::TrustedFolder(fs::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // whoever writes into it gets the reason
  struct stat status;
  refusal_ = ::fstat(descriptor, &status) != 0 ? text_of(errno) : stranger(status);
  if (refusal_.empty())
    descriptor_ = kept_open(descriptor, status);
  else
    ::close(descriptor);
}

TrustedFile TrustedFolder::open(const std::string& name) const {
  return descriptor_ < 0 ? TrustedFile() : TrustedFile(descriptor_, path_ / name);
}

fs::path TrustedFolder::path(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", descriptor_, name);
}

int make_private_folder(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_filename() ? path : path.parent_path();  // "DIR/" has no file name
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  if (error) return error.value();
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace kb
