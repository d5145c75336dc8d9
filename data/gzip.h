// Whole files in memory, plain or gzip (RFC 1952), with every fault told as a DataError.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/bytes.h"

namespace kb {

/// The content of `path`. A name that ends in ".gz" is unpacked: every member, each checked against its CRC and length;
/// truncated, damaged and foreign files are refused, and before memory is taken for it content of more than `most`
/// bytes.
Bytes read_unpacked(const std::filesystem::path& path, size_t most = SIZE_MAX);

}  // namespace kb
