// The folder for what no one keeps: $TMPDIR, else /tmp.
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// Throws Error where the one that TMPDIR names is no folder.
std::filesystem::path temporary_parent();

// A folder of its own, empty at first, which goes with its object.
class TemporaryFolder {
 public:
  // In temporary_parent(); its name begins with `prefix`. Throws Error with the system's reason where it cannot be
  // made.
  explicit TemporaryFolder(const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kb
