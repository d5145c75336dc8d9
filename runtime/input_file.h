// A file, open for reading. Only a regular file is accepted: a FIFO, a device, a socket or a folder is refused by name,
// before a read could wait for it or take endless memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

namespace kb {

class InputFile {
 public:
  // Opens the file. Throws FileError with the path and the reason.
  explicit InputFile(const std::filesystem::path& path);
  // Takes over an open descriptor, and closes it at the end.
  InputFile(std::filesystem::path path, int descriptor);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  size_t size() const { return size_; }  // bytes, when the file was opened; 0 for files of /proc
  // Reads bytes [begin, begin + bytes) into `out`. Throws FileError when the system cannot read, Error when the file
  // has fewer.
  void read(size_t begin, void* out, size_t bytes) const;
  std::string read(size_t begin, size_t bytes) const;
  // Reads at most `bytes` bytes from `begin` on into `out`; returns how many there were.
  size_t read_some(size_t begin, void* out, size_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  size_t size_ = 0;
};

// Returns "a folder", "a FIFO", "a device", "a socket" or "a file" for the st_mode of stat().
const char* kind_of_file(unsigned mode);

// Returns whether anything has this name, also a symbolic link that leads nowhere.
bool is_there(const std::filesystem::path& path);

// Returns the content of the whole file.
std::string read_file(const std::filesystem::path& path);

}  // namespace kb
