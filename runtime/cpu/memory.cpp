#include "runtime/cpu/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "graph/rounding.h"
#include "runtime/cpu/arena_guard.h"

namespace kb {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kLargePage = 2 << 20;  // blocks from this size on ask for transparent huge pages

// Makes the system give the pages, which it fills with zeros, so that a step causes no page fault.
void touch(std::byte* data, int64_t bytes, Pool& pool) {
  pool.parallel(ceil_div(bytes, kLargePage), [&](int64_t begin, int64_t end, int) {
    std::byte* first = data + begin * kLargePage;
    const auto size = static_cast<size_t>(std::min(bytes, end * kLargePage) - begin * kLargePage);
#ifdef MADV_POPULATE_WRITE  // Linux 5.14; it takes two thirds of the time of writing, which touches each byte again
    if (madvise(first, size, MADV_POPULATE_WRITE) == 0) return;
#endif
    std::memset(first, 0, size);
  });
}

class CpuMemory : public DeviceMemory {
 public:
  CpuMemory(int64_t bytes, Pool& pool) : bytes_(bytes), alignment_(bytes >= kLargePage ? kLargePage : kPage) {
    mapped_ = round_up(bytes + 2 * kRedzone, kPage) + alignment_;
    void* map = mmap(nullptr, static_cast<size_t>(mapped_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
      throw Error(
          fmt::format("out of memory\n  expected: {} bytes more\n  got:      {}\n  hint:     a smaller --minibatch or "
                      "--per-worker takes less; a limit may be set (ulimit -v, a container's memory)",
                      bytes, std::generic_category().message(errno)));
    map_ = static_cast<std::byte*>(map);
    auto address = reinterpret_cast<intptr_t>(map_);
    data_ = map_ + (round_up(address + kRedzone, alignment_) - address);
    if (alignment_ == kLargePage) madvise(map_, static_cast<size_t>(mapped_), MADV_HUGEPAGE);
    touch(data_, bytes, pool);
    poison(data_ - kRedzone, kRedzone);
    poison(data_ + bytes, kRedzone);
  }
  // Unpoisons the whole mapping, because the next mapping may get these addresses.
  ~CpuMemory() override {
    unpoison(map_, mapped_);
    munmap(map_, static_cast<size_t>(mapped_));
  }
  CpuMemory(const CpuMemory&) = delete;
  CpuMemory& operator=(const CpuMemory&) = delete;

  std::byte* data() override { return data_; }
  int64_t bytes() const override { return bytes_; }

 private:
  int64_t bytes_, alignment_, mapped_ = 0;
  std::byte* map_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> allocate_cpu_memory(int64_t bytes, Pool& pool) {
  return std::make_unique<CpuMemory>(bytes, pool);
}

}  // namespace kb
