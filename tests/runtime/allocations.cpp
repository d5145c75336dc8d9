#include "tests/runtime/allocations.h"

#include <link.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {

std::atomic<int64_t> ours{0}, onednns{0};

struct Range {
  uintptr_t begin = 0, end = 0;
};

int find_dnnl(dl_phdr_info* info, size_t, void* result) {
  if (std::string_view(info->dlpi_name).find("libdnnl") == std::string_view::npos) return 0;
  Range& range = *static_cast<Range*>(result);
  range.begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD) range.end = std::max(range.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return 1;
}

void note(const void* caller) {
  static const Range dnnl = [] {
    Range range;
    dl_iterate_phdr(find_dnnl, &range);
    return range;
  }();
  const auto address = reinterpret_cast<uintptr_t>(caller);
  ++(address < dnnl.begin || address >= dnnl.end ? ours : onednns);
}

void* checked(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  note(__builtin_return_address(0));
  return checked(std::malloc(size > 0 ? size : 1));
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  note(__builtin_return_address(0));
  const size_t step = static_cast<size_t>(alignment);
  return checked(std::aligned_alloc(step, (size + step - 1) / step * step));
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  note(__builtin_return_address(0));
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

int64_t kb::test::allocations_of_ours() { return ours.load(); }
int64_t kb::test::allocations_of_onednn() { return onednns.load(); }
