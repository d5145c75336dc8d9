// Writes files so that a reader finds them complete or not at all: under a temporary name in the same directory,
// flushed to the disk, renamed. Every output of a run is written this way. Errors are kb::Error with the path and the
// system's reason.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace kb {

// The age in seconds at which an empty target of AtomicFile::commit_new shows that the process that made it was killed.
inline constexpr int64_t kAbandonedSeconds = 10;

class AtomicFile {
 public:
  // Opens `TARGET.PID.N.tmp`; the directory must exist. `bytes`, if known, are set aside on the disk at once, so that a
  // full disk is found before anything is written. If `target` is a symbolic link, the link stays and the file that it
  // leads to is replaced, or made. Throws Error when the target is a folder, a device, a FIFO or a socket.
  explicit AtomicFile(const std::filesystem::path& target, int64_t bytes = 0, unsigned mode = 0666);
  // Removes the temporary file unless it was committed; the target then stays as it was.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Flushes the file, renames it over the target and flushes the directory. It is called once, last.
  void commit();
  // Commits if there is no target yet; otherwise leaves the target as it is and returns false. Of several processes
  // that try at once, on any machines, one succeeds. On a file system that has neither hard links nor renames that keep
  // a target, the target is empty for a moment; if the process is killed then, another one makes the target
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

// Writes the whole file. `mode` is the file's mode, less what the process's mask takes away.
void write_file_atomically(const std::filesystem::path& target, std::string_view content, unsigned mode = 0666);
// Writes the file if there is no target; otherwise leaves the target as it is and returns false.
bool write_file_once(const std::filesystem::path& target, std::string_view content);

}  // namespace kb
