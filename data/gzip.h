// Reads whole files, plain or gzip (RFC 1952). Every fault is a DataError.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/bytes.h"

namespace kb {

/// Returns the content of `path`. If the name ends in ".gz" or ".dz", every member is unpacked, and its CRC and length
/// are checked. Throws DataError for truncated, damaged or foreign files, and for content of more than `most` bytes,
/// before it takes memory for it.
Bytes read_unpacked(const std::filesystem::path& path, size_t most = SIZE_MAX);

}  // namespace kb
