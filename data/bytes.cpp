#include "data/bytes.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace kb {
namespace {

constexpr size_t kHugePage = 2 << 20;
constexpr size_t kLarge = 2 * kHugePage;

}  // namespace

void* allocate_bytes(size_t bytes) {
  const bool large = bytes >= kLarge;
  if (large) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = large ? std::aligned_alloc(kHugePage, bytes) : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // without huge pages it works too
  return memory;
}

void free_bytes(void* memory) { std::free(memory); }

}  // namespace kb

template class std::vector<uint8_t, kb::UnsetAllocator<uint8_t>>;
