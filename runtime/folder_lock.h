// An advisory lock on a folder: that one process alone works in it.
#pragma once
#include <filesystem>

namespace kb {

// Tries to lock the folder (flock), and holds the lock as long as it lives; the system gives it back where the process
// is killed. A file system without such locks lets everybody have it.
class FolderLock {
 public:
  // Throws Error where the folder cannot be opened.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // False where another process holds it.
  bool has_it() const { return has_it_; }

 private:
  int descriptor_ = -1;
  bool has_it_ = false;
};

}  // namespace kb
