// Texts whose tokens are their bytes.
#pragma once

#include <filesystem>

#include "data/bytes.h"
#include "data/text/token_sequence.h"

namespace kb {

constexpr int64_t kByteVocabulary = 256;

/// Returns a text of `bytes`, of which the last `test_bytes` are the test part. Throws DataError when `test_bytes` is
/// not above 0 and below the number of all bytes.
TokenText byte_text(std::string name, Bytes bytes, int64_t test_bytes);

/// Reads a file, or all files below a folder in the order of their paths, one after another. The files are plain or
/// gzip (".gz", and ".dz" of dictionaries). The last hundredth of the bytes is the test part (rounded up). Throws
/// DataError for files that cannot be read, and for a text of fewer than 200 bytes.
TokenText read_byte_text(const std::filesystem::path& path);

}  // namespace kb
