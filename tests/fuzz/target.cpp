#include "tests/fuzz/target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace kb::fuzz {

namespace fs = std::filesystem;

namespace {

std::map<std::string, TargetFunction, std::less<>>& all_targets() {
  static std::map<std::string, TargetFunction, std::less<>> targets;
  return targets;
}

}  // namespace

RegisteredTarget::RegisteredTarget(const char* name, TargetFunction function) { all_targets()[name] = function; }

TargetFunction find_target(std::string_view name) {
  const auto found = all_targets().find(name);
  if (found != all_targets().end()) return found->second;
  std::fprintf(stderr, "there is no fuzz target '%s'; the targets are:", std::string(name).c_str());
  for (const auto& [other, function] : all_targets()) std::fprintf(stderr, " %s", other.c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

MemoryFile::MemoryFile() : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::runtime_error("memfd_create failed");
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

void MemoryFile::write(std::string_view bytes) const {
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("a file in memory cannot be written");
}

ScratchFolder::ScratchFolder() {
  std::string path = (::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + std::string("/kilobatch-fuzz-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder can be made beside " + path);
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void ScratchFolder::link(const fs::path& name, const MemoryFile& file) const {
  fs::create_directories((path_ / name).parent_path());
  fs::create_symlink(file.path(), path_ / name);
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace kb::fuzz
