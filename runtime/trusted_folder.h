// A folder of code that is run. What lies there is read only where nobody but this user and the administrator can have
// written it: the folder and the file belong to this user or to root, and nobody else may write them (a folder like
// /tmp, in which nobody may replace another's files, will do). A file is opened once, by its name in the very folder
// that was judged and never through a symbolic link; it is judged and read through that descriptor.
#pragma once
#include <sys/stat.h>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace kb {

class TrustedFile {
 public:
  // Opens and judges what is there by this name, whatever its folder is.
  explicit TrustedFile(const std::filesystem::path& path);
  // No file.
  TrustedFile() = default;
  ~TrustedFile();
  TrustedFile(const TrustedFile&) = delete;
  TrustedFile& operator=(const TrustedFile&) = delete;

  // Whether there is something of this name; it may be refused.
  bool exists() const { return descriptor_ >= 0 || !refusal_.empty(); }
  // Why it is not to be read: "it belongs to user 12, ..."; empty where it may be.
  const std::string& refusal() const { return refusal_; }
  const struct stat& status() const { return status_; }
  // Two names of one file have the same.
  std::pair<uint64_t, uint64_t> identity() const { return {status_.st_dev, status_.st_ino}; }
  // The whole content. Throws Error where the system cannot read it.
  std::string read() const;

 private:
  friend class TrustedFolder;
  TrustedFile(int folder, std::filesystem::path path);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string refusal_;
  struct stat status_ = {};
};

class TrustedFolder {
 public:
  // An empty path stands for no folder.
  explicit TrustedFolder(std::filesystem::path path);

  // Why nothing in it is to be read, with a hint; empty where it is trusted, and where it is not there.
  const std::string& refusal() const { return refusal_; }
  // No file where the folder is not there or not trusted.
  TrustedFile open(const std::string& name) const;
  // The way for the system's loader to a file of the judged folder, whatever the folder's own name stands for by now.
  // The loader takes a path that it has seen for the file that had it then, so one folder keeps its paths, and no other
  // gets them, until this process ends.
  std::filesystem::path path(const std::string& name) const;

 private:
  std::filesystem::path path_;
  std::string refusal_;
  int descriptor_ = -1;  // stays open
};

// Makes the folder, for this user alone, and those above it, where they are not there. Gives errno, or 0.
int make_private_folder(const std::filesystem::path& path);

}  // namespace kb
