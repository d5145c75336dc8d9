// Helpers of the tests of data/: they pack gzip files, write idx files, and catch errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/bytes.h"
#include "data/error.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::test {

inline std::string_view text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes gzip(const Bytes& plain);
/// Returns an idx file: the magic number and the extents, big-endian, then the payload.
Bytes idx(uint32_t magic, const std::vector<uint32_t>& extents, const Bytes& payload);

/// The message of the DataError that `action` throws, with `dir` written as DIR; "(nothing thrown)" if there is none.
template <class Action>
std::string data_error(const std::filesystem::path& dir, Action&& action) {
  std::string text = error_of<DataError>(action);
  for (size_t at; !dir.empty() && (at = text.find(dir.string())) != std::string::npos;) {
    text.replace(at, dir.string().size(), "DIR");
  }
  return text;
}

}  // namespace kb::test
