// A file that is read. Only a regular one: what is a FIFO, a device, a socket or a folder is refused by name, before
// anything could wait for it or take memory without end.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

namespace kb {

class InputFile {
 public:
  // Throws FileError with the path and the reason.
  explicit InputFile(const std::filesystem::path& path);
  // The file that is open as `descriptor`, which is closed in the end.
  InputFile(std::filesystem::path path, int descriptor);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  size_t size() const { return size_; }  // bytes, when it was opened; 0 of files of /proc
  // Bytes [begin, begin + bytes) into `to`. Throws FileError where the system reads none, Error where there are fewer.
  void read(size_t begin, void* to, size_t bytes) const;
  std::string read(size_t begin, size_t bytes) const;
  // From `begin` on as many as there are, at most `bytes`.
  size_t read_some(size_t begin, void* to, size_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  size_t size_ = 0;
};

// "a folder", "a FIFO", "a device", "a socket" of what stat() gives as st_mode; "a file" of a regular one.
const char* kind_of_file(unsigned mode);

// Whether anything has this name, be it a symbolic link that leads nowhere.
bool is_there(const std::filesystem::path& path);

// The whole file.
std::string read_file(const std::filesystem::path& path);

}  // namespace kb
