#include "data/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "data/data_file.h"
#include "data/error.h"

namespace kb {

// The mapping stays when the file is closed.
MappedFile::MappedFile(const std::filesystem::path& path) {
  const DataFile file(path);
  size_ = file.size();
  if (size_ == 0) return;
  memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory_ == MAP_FAILED)
    throw DataError({path.string(), "cannot be mapped into memory", "", std::generic_category().message(errno), ""});
}

MappedFile::~MappedFile() {
  if (memory_) ::munmap(memory_, size_);
}

}  // namespace kb
