// Memory of a FakeGpu: allocations, and what operations may touch.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>

#include "runtime/cpu/arena_guard.h"
#include "tests/runtime/cuda/fake_gpu.h"
#include "tests/runtime/cuda/fake_handles.h"

namespace kb::test {

using namespace cuda;

constexpr int64_t kPage = 4096;  // bytes

Result FakeGpu::allocate(Address* address, size_t bytes) {
  if (Result result = not_while_capturing()) return result;
  if (bytes == 0) return kInvalidValue;
  const auto size = static_cast<int64_t>(bytes);
  if (taken_ + size > options_.memory) return kOutOfMemory;
  const int64_t mapped = (size + kPage - 1) / kPage * kPage;
  ensure(used_ + mapped + kPage <= kFakeRange, "the fake GPU has no addresses left");
  char* data = range_ + used_;
  // A page that nobody may touch lies after every allocation, and addresses are not used again.
  used_ += mapped + kPage;
  taken_ += size;
  mprotect(data, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE);
  std::memset(data, 0xa5, bytes);
  kb::poison(data + size, mapped - size);
  mprotect(data, static_cast<size_t>(mapped), PROT_NONE);
  *address = reinterpret_cast<Address>(data);
  allocations_[*address] = {size, true, true, {}};
  return kSuccess;
}

Result FakeGpu::free_device(Address address) {
  if (Result result = not_while_capturing()) return result;
  const auto at = allocations_.find(address);
  if (at == allocations_.end() || !at->second.on_device) fault("cuMemFree: no address of an allocation");
  if (!at->second.live) fault("cuMemFree: freed twice");
  drain_all();
  at->second.live = false;
  at->second.accesses.clear();
  taken_ -= at->second.bytes;
  kb::unpoison(reinterpret_cast<void*>(address), (at->second.bytes + kPage - 1) / kPage * kPage);
  madvise(reinterpret_cast<void*>(address), static_cast<size_t>(at->second.bytes), MADV_DONTNEED);
  return kSuccess;
}

Result FakeGpu::allocate_host(void** data, size_t bytes) {
  if (Result result = not_while_capturing()) return result;
  if (bytes == 0) return kInvalidValue;
  *data = std::malloc(bytes);
  std::memset(*data, 0xa5, bytes);
  allocations_[reinterpret_cast<uint64_t>(*data)] = {static_cast<int64_t>(bytes), false, true, {}};
  return kSuccess;
}

Result FakeGpu::free_host(void* data) {
  if (Result result = not_while_capturing()) return result;
  const auto at = allocations_.find(reinterpret_cast<uint64_t>(data));
  if (at == allocations_.end() || at->second.on_device) fault("cuMemFreeHost: no address of an allocation");
  const MemoryRange all = MemoryRange::of(data, at->second.bytes);
  for (const StreamState& s : streams_)
    for (const Operation& operation : s.queue)
      for (const auto* ranges : {&operation.reads, &operation.writes})
        for (MemoryRange range : *ranges)
          if (overlap(range, all)) fault("cuMemFreeHost: memory that is still in use by " + operation.what);
  std::free(data);
  allocations_.erase(at);
  return kSuccess;
}

FakeGpu::Allocation& FakeGpu::find(MemoryRange range, const std::string& what) {
  auto at = allocations_.upper_bound(range.begin);
  if (at == allocations_.begin()) fault(what + ": neither device nor page-locked memory");
  --at;
  if (range.begin >= at->first + static_cast<uint64_t>(at->second.bytes))
    fault(what + ": neither device nor page-locked memory");
  if (!at->second.live) fault(what + ": memory that has been freed");
  if (range.end > at->first + static_cast<uint64_t>(at->second.bytes))
    fault(fmt::format("{}: {} bytes past the end of an allocation of {}", what,
                      range.end - at->first - static_cast<uint64_t>(at->second.bytes), at->second.bytes));
  return at->second;
}

void FakeGpu::check_place(MemoryRange range, bool on_device, const std::string& what) {
  if (find(range, what).on_device != on_device)
    fault(what +
          (on_device ? ": memory of the host given as the device's" : ": memory of the device given as the host's"));
}

MemoryRange FakeGpu::all_of(const void* data) {
  const MemoryRange first = MemoryRange::of(data, 1);
  const int64_t bytes = find(first, "an operand").bytes;
  const uint64_t begin = std::prev(allocations_.upper_bound(first.begin))->first;
  return {begin, begin + static_cast<uint64_t>(bytes)};
}

void FakeGpu::know(const std::string& kernel, const void* data, int64_t bytes) {
  int64_t& most = known_[{kernel, MemoryRange::of(data, 0).begin}];
  most = std::max(most, bytes);
}

MemoryRange FakeGpu::touched(const std::string& kernel, uint64_t address) {
  for (const std::string& name : {kernel, std::string()})
    if (const auto at = known_.find({name, address}); at != known_.end())
      return {address, address + static_cast<uint64_t>(at->second)};
  return rest_of(reinterpret_cast<const void*>(address));
}

MemoryRange FakeGpu::rest_of(const void* data) { return {MemoryRange::of(data, 0).begin, all_of(data).end}; }

// Makes the allocations that an operation names readable and writable while its work runs. At other times nobody may
// touch the device's memory, and work may not touch memory that it does not name.
void FakeGpu::open_memory(const Operation& operation, bool open) {
  for (const auto* ranges : {&operation.reads, &operation.writes})
    for (const MemoryRange range : *ranges) {
      Allocation& allocation = find(range, operation.what);
      allocation.opened += open ? 1 : -1;
      if (!allocation.on_device || allocation.opened != (open ? 1 : 0)) continue;
      const uint64_t begin = std::prev(allocations_.upper_bound(range.begin))->first;
      mprotect(reinterpret_cast<void*>(begin), static_cast<size_t>(allocation.bytes),
               open ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
}

}  // namespace kb::test
