// Bytes by the million: a vector that does not zero what is about to be overwritten and lies on huge pages, because a
// data set would take longer to touch in pages of 4 KiB than to hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kb {

/// At least `bytes`, from 4 MiB on at a multiple of 2 MiB, on transparent huge pages where the system has them. Throws
/// std::bad_alloc.
void* allocate_bytes(size_t bytes);
void free_bytes(void* memory);

/// New elements of a vector with it are not set: `resize` and the constructor that takes a size leave them as they are.
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

// Made in bytes.cpp: its loops over elements, which do nothing, are loops where the code that uses it is not optimised.
extern template class std::vector<uint8_t, kb::UnsetAllocator<uint8_t>>;
