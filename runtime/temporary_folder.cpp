#include "runtime/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <system_error>

#include "graph/error.h"
#include "runtime/file_error.h"

namespace kb {

namespace fs = std::filesystem;

fs::path temporary_parent() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (!error) return parent;
  throw Error(
      fmt::format("TMPDIR: cannot use what it names: {}\n  expected: a folder for temporary files\n  hint:     "
                  "TMPDIR=/tmp, or unset it",
                  error.message()));
}

TemporaryFolder::TemporaryFolder(const std::string& prefix) {
  std::string name = (temporary_parent() / (prefix + "XXXXXX")).string();
  if (!::mkdtemp(name.data())) throw_file_error("make the folder", name, errno);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace kb
