// An advisory lock on a folder, so that only one process works in it.
#pragma once
#include <filesystem>

namespace kb {

// Tries to lock the folder (flock) and holds the lock while the object lives. If the process is killed, the system
// releases the lock. On a file system without locks everybody gets it.
class FolderLock {
 public:
  // Throws Error when the folder cannot be opened.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Returns false when another process holds the lock.
  bool has_it() const { return has_it_; }

 private:
  int descriptor_ = -1;
  bool has_it_ = false;
};

}  // namespace kb
