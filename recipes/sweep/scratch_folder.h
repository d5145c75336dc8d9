// Scratch space for the measurements that a sweep makes before it trains.
#pragma once
#include <filesystem>
#include <memory>

#include "runtime/folder_lock.h"

namespace kb {

// A folder packing-HOST-N in a store, which this process has for itself. It is empty at first; the destructor empties
// it or, if this process is killed, the next process of this machine that uses it.
class ScratchFolder {
 public:
  // Throws Error if the folder cannot be made.
  explicit ScratchFolder(const std::filesystem::path& store);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  void empty() const;

  std::filesystem::path path_;
  std::unique_ptr<const FolderLock> lock_;
};

}  // namespace kb
