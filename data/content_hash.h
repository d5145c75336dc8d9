// The hash by which data is known: of whole files, and of the content of a data set. Fast, not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kb {

/// Returns the hash of `size` bytes, continuing from `key`; equal on every machine of the supported byte order.
uint64_t content_hash(uint64_t key, const void* data, size_t size);

}  // namespace kb
