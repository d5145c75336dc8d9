// Helpers that the fuzz targets share. A target is one file with KB_FUZZ_TARGET(NAME) { ... }: it reads an input, the
// bytes `data[0]` to `data[size - 1]`, as Kilobatch would, takes the errors that are the input's fault, and lets
// everything else end the program. libfuzzer.cpp gives a target to libFuzzer, and driver.cpp runs it without.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#define KB_FUZZ_TARGET(name)                                            \
  static void read_input(const uint8_t* data, size_t size);             \
  static const ::kb::fuzz::RegisteredTarget kTarget(#name, read_input); \
  static void read_input([[maybe_unused]] const uint8_t* data, [[maybe_unused]] size_t size)

namespace kb::fuzz {

using TargetFunction = void (*)(const uint8_t* data, size_t size);

struct RegisteredTarget {
  RegisteredTarget(const char* name, TargetFunction function);
};

// Returns the target of that name. Ends the program with exit code 2 and a list of all targets if there is none.
TargetFunction find_target(std::string_view name);

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Takes the bytes that steer a target off the front of its input.
class Steering {
 public:
  Steering(const uint8_t* data, size_t size) : rest_(text_of(data, size)) {}
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// A file that is in memory alone, under a path that is opened as a regular file's.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void write(std::string_view bytes) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  int descriptor_;
  std::filesystem::path path_;
};

// A folder that is removed when the program ends. It is in memory if the system has /dev/shm.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Adds a name to the folder: a symbolic link to the file.
  void link(const std::filesystem::path& name, const MemoryFile& file) const;

 private:
  std::filesystem::path path_;
};

// Ends the program with `what` as the message unless the condition holds, which every input must meet.
void require(bool holds, const char* what);

}  // namespace kb::fuzz
