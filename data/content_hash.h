// The hash that identifies a file or the content of a data set. It is fast, and not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kb {

/// Returns the hash of `size` bytes, continuing from `key`. It is equal on all machines of the supported byte order.
uint64_t content_hash(uint64_t key, const void* data, size_t size);

}  // namespace kb
