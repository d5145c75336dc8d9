// Room for what a sweep tries out before it trains.
#pragma once
#include <filesystem>
#include <memory>

#include "runtime/folder_lock.h"

namespace kb {

// A folder in a store that this process has alone, packing-HOST-N: empty at first, and emptied in the end, or by the
// next process of this machine where this one is killed.
class ScratchFolder {
 public:
  // Throws Error where it cannot be made.
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
