// Files for the data room's tests: a directory that goes with its test, idx and gzip writers, and error capture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/error.h"

namespace kb::test {

using Bytes = std::vector<uint8_t>;

/// A fresh directory below the system's temporary one, removed with the object.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& path, const Bytes& bytes);
Bytes gzip(const Bytes& plain);
/// magic, extents (big-endian), payload.
Bytes idx(uint32_t magic, const std::vector<uint32_t>& extents, const Bytes& payload);

/// The message of the DataError that `action` throws, with `dir` written as DIR; "(nothing thrown)" if there is none.
template <class Action>
std::string data_error(const std::filesystem::path& dir, Action&& action) {
  std::string text = "(nothing thrown)";
  try {
    action();
  } catch (const DataError& error) {
    text = error.what();
  }
  for (size_t at; !dir.empty() && (at = text.find(dir.string())) != std::string::npos;) {
    text.replace(at, dir.string().size(), "DIR");
  }
  return text;
}

}  // namespace kb::test
