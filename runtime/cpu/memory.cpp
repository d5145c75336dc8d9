#include "runtime/cpu/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>

namespace kb {
namespace {

constexpr int64_t kLargePage = 2 << 20;  // bytes; large blocks ask for transparent huge pages

class CpuMemory : public DeviceMemory {
 public:
  explicit CpuMemory(int64_t bytes) : bytes_(bytes) {
    mapped_ = (std::max<int64_t>(bytes, 1) + 4095) / 4096 * 4096 + (bytes >= kLargePage ? kLargePage : 0);
    map_ = mmap(nullptr, static_cast<size_t>(mapped_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) throw Error(fmt::format("out of memory: {} bytes were asked for", bytes));
    auto address = reinterpret_cast<uintptr_t>(map_);
    if (bytes >= kLargePage) {
      address = (address + kLargePage - 1) / kLargePage * kLargePage;
      madvise(map_, static_cast<size_t>(mapped_), MADV_HUGEPAGE);
    }
    data_ = reinterpret_cast<std::byte*>(address);
    std::memset(data_, 0, static_cast<size_t>(bytes));
  }
  ~CpuMemory() override { munmap(map_, static_cast<size_t>(mapped_)); }
  CpuMemory(const CpuMemory&) = delete;
  CpuMemory& operator=(const CpuMemory&) = delete;

  std::byte* data() override { return data_; }
  int64_t bytes() const override { return bytes_; }

 private:
  int64_t bytes_, mapped_ = 0;
  void* map_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> allocate_cpu_memory(int64_t bytes) { return std::make_unique<CpuMemory>(bytes); }

}  // namespace kb
