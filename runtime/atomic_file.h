// Files that are there whole or not at all: written under a temporary name in the same directory, flushed to the disk,
// renamed. Every output of a run goes this way. Errors are kb::Error with the path and the system's own words.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace kb {

// After which an empty target of AtomicFile::commit_new is no other process's any more: that one was killed.
inline constexpr int64_t kAbandonedSeconds = 10;

class AtomicFile {
 public:
  // Opens `TARGET.PID.N.tmp`; the directory must be there. `bytes`, where known, are set aside on the disk at once, so
  // that a full one is found before anything is written.
  // Throws Error where the target is a folder, a device, a FIFO or a socket; a symbolic link stays, and the file that
  // it leads to is replaced.
  explicit AtomicFile(const std::filesystem::path& target, int64_t bytes = 0, unsigned mode = 0666);
  // Without a commit the target stays as it was and the temporary file goes.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Flushes, renames over the target, flushes the directory. Once, last.
  void commit();
  // Likewise, where there is no target yet; false: there is one, and it stays as it is. Of several processes that try
  // at once, on whatever machines, one succeeds. On a file system that has neither hard links nor renames that spare a
  // target, the target is empty before it is whole: where its process was killed there, another one makes it
  // kAbandonedSeconds later.
  bool commit_new();

 private:
  [[noreturn]] void fail() const;
  void set_aside();
  void discard();
  int make_empty() const;
  bool is_abandoned() const;

  std::filesystem::path target_;
  int64_t bytes_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// `mode`: of the file, less what the process's mask takes away.
void write_file_atomically(const std::filesystem::path& target, std::string_view content, unsigned mode = 0666);
// False where the target is there already, and stays as it is.
bool write_file_once(const std::filesystem::path& target, std::string_view content);

}  // namespace kb
