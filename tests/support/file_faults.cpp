#include "tests/support/file_faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace {

std::atomic<int> no_link{0}, no_rename{0}, flush_fault{0}, flushed_files{0}, flushed_folders{0}, calls{0};
std::atomic<size_t> most_bytes{SIZE_MAX};

bool is_directory(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

int fail(int reason) {
  errno = reason;
  return -1;
}

// Makes a call of so many bytes, or a part of it, or fails as if a signal had come.
template <class Call>
ssize_t stutter(size_t bytes, const Call& call) {
  const size_t most = most_bytes;
  if (most == SIZE_MAX) return call(bytes);
  return calls++ % 2 == 0 ? fail(EINTR) : call(std::min(bytes, most));
}

// Returns the next definition in the order of libraries, which is a sanitizer's or the system's.
template <class Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// A program's own definitions come before those of its libraries, so these replace the system's functions.
extern "C" int fsync(int descriptor) {
  const bool is_folder = is_directory(descriptor);
  ++(is_folder ? flushed_folders : flushed_files);
  if (is_folder && flush_fault != 0) return fail(flush_fault);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
extern "C" int link(const char* from, const char* to) noexcept {
  if (no_link != 0) return fail(no_link);
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (no_rename != 0) return fail(no_rename);
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
extern "C" ssize_t pread(int descriptor, void* to, size_t bytes, off_t at) {
  static const auto real = next("pread", &pread);
  return stutter(bytes, [&](size_t some) { return real(descriptor, to, some, at); });
}
extern "C" ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t at) {
  static const auto real = next("pwrite", &pwrite);
  return stutter(bytes, [&](size_t some) { return real(descriptor, from, some, at); });
}
extern "C" ssize_t write(int descriptor, const void* from, size_t bytes) {
  static const auto real = next("write", &write);
  return stutter(bytes, [&](size_t some) { return real(descriptor, from, some); });
}

namespace kb::test {

Lacking::Lacking(int link, int rename) {
  no_link = link;
  no_rename = rename;
}
Lacking::~Lacking() { no_link = no_rename = 0; }

FlushFault::FlushFault(int number) { flush_fault = number; }
FlushFault::~FlushFault() { flush_fault = 0; }

Flushes::Flushes() : files_(flushed_files), folders_(flushed_folders) {}
int Flushes::files() const { return flushed_files - files_; }
int Flushes::folders() const { return flushed_folders - folders_; }

Stutter::Stutter(size_t most) {
  calls = 0;
  most_bytes = most;
}
Stutter::~Stutter() { most_bytes = SIZE_MAX; }

}  // namespace kb::test
