// The folder for temporary files: $TMPDIR, else /tmp.
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// Returns the folder. Throws Error when TMPDIR names something else than a folder.
std::filesystem::path temporary_parent();

// A new empty folder, which the destructor removes with all that is in it.
class TemporaryFolder {
 public:
  // Makes the folder in temporary_parent(), with a name that begins with `prefix`. Throws Error with the system's
  // reason when it cannot.
  explicit TemporaryFolder(const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kb
