// Large arrays of bytes: a vector that does not zero new elements, because they are about to be overwritten, and that
// lies on huge pages, because a data set takes longer to touch in pages of 4 KiB than to hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kb {

/// Returns at least `bytes` bytes of memory. From 4 MiB on it begins at a multiple of 2 MiB and lies on transparent
/// huge pages, if the system has them. Throws std::bad_alloc.
void* allocate_bytes(size_t bytes);
void free_bytes(void* memory);

/// With this allocator a vector's new elements are not set, neither by `resize` nor by the constructor that takes a
/// size.
template <class T>
struct UnsetAllocator {
  using value_type = T;

  UnsetAllocator() = default;
  template <class U>
  explicit UnsetAllocator(const UnsetAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(allocate_bytes(count * sizeof(T))); }
  void deallocate(T* memory, size_t) { free_bytes(memory); }
  void construct(T*) {}
  void construct(T* at, T value) { *at = value; }
  bool operator==(const UnsetAllocator&) const = default;
};

using Bytes = std::vector<uint8_t, UnsetAllocator<uint8_t>>;

}  // namespace kb

// This is instantiated in bytes.cpp, which is optimised: elsewhere in a debug build its empty loops over elements would
// run.
extern template class std::vector<uint8_t, kb::UnsetAllocator<uint8_t>>;
