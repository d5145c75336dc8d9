// A folder of code that is executed. A file in it is read only if nobody but this user and the administrator can have
// written it: folder and file must belong to this user or to root, and nobody else may write them (a folder like /tmp,
// in which users cannot replace each other's files, is accepted). A file is opened once, by its name in the checked
// folder and never through a symbolic link, and is checked and read through that descriptor.
#pragma once
#include <sys/stat.h>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace kb {

class TrustedFile {
 public:
  // Opens and checks the file of this name, whatever its folder is.
  explicit TrustedFile(const std::filesystem::path& path);
  // Stands for no file.
  TrustedFile() = default;
  ~TrustedFile();
  TrustedFile(const TrustedFile&) = delete;
  TrustedFile& operator=(const TrustedFile&) = delete;

  // Returns whether something has this name; it may be refused.
  bool exists() const { return descriptor_ >= 0 || !refusal_.empty(); }
  // Returns why it must not be read: "it belongs to user 12, ..."; empty if it may be.
  const std::string& refusal() const { return refusal_; }
  const struct stat& status() const { return status_; }
  // Two names of one file have the same identity.
  std::pair<uint64_t, uint64_t> identity() const { return {status_.st_dev, status_.st_ino}; }
  // Returns the whole content. Throws Error when the system cannot read it.
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

  // Returns why no file in it is read, with a hint; empty if the folder is trusted or does not exist.
  const std::string& refusal() const { return refusal_; }
  // Opens a file; gives no file if the folder does not exist or is not trusted.
  TrustedFile open(const std::string& name) const;
  // Returns a path for the system's loader to a file of the checked folder, whatever the folder's name leads to by now.
  // The loader takes a path that it has seen for the file that had it then, so one folder keeps its paths, and no other
  // gets them, until this process ends.
  std::filesystem::path path(const std::string& name) const;

 private:
  std::filesystem::path path_;
  std::string refusal_;
  int descriptor_ = -1;  // stays open until the process ends
};

// Makes the folder and those above it, for this user alone, where they are missing. Returns errno, or 0.
int make_private_folder(const std::filesystem::path& path);

}  // namespace kb
