#include "recipes/sweep/scratch_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "graph/error.h"
#include "runtime/file_error.h"
#include "runtime/host_name.h"

namespace kb {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const fs::path& store) {
  for (int number = 1; !lock_ || !lock_->has_it(); ++number) {
    path_ = store / fmt::format("packing-{}-{}", host_name(), number);
    make_folder(path_);
    lock_ = std::make_unique<FolderLock>(path_);
  }
  empty();
}

ScratchFolder::~ScratchFolder() { empty(); }

// Removes what the folder holds. The folder itself stays, since another process may be about to lock it.
void ScratchFolder::empty() const {
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error))
    fs::remove_all(at->path(), error);
}

}  // namespace kb
