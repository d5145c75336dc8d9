#include "runtime/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/file_error.h"

namespace kb {

FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw_file_error("open", folder, errno);
  // Other errors (ENOLCK, ENOSYS, EOPNOTSUPP) mean that the file system has no locks for anybody.
  has_it_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace kb
