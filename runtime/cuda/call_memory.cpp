#include "runtime/cuda/call_memory.h"

#include <algorithm>
#include <random>

#include "graph/dtype.h"
#include "graph/rounding.h"
#include "runtime/cuda/memory.h"

namespace kb::cuda {
namespace {

constexpr int64_t kAlignment = 256;  // alignment of operands, bytes
// Bytes of random numbers, which a large operand repeats: no multiple of a matrix's rows, so that tiles differ.
constexpr int64_t kPattern = (256 << 10) - 16;
constexpr int64_t kCaches = 2;  // touching this many times the cache's size leaves nothing of its content

int64_t aligned(int64_t bytes) { return round_up(bytes, kAlignment); }

int64_t flush_bytes(const DeviceHandles& device) {
  int cache = 0;
  device.driver(device.driver.device_attribute, &cache, DeviceAttribute::l2_cache_bytes, device.device);
  return aligned(kCaches * cache);
}

// Page-locked memory of the host, which is freed at the end of the block.
class Staging {
 public:
  Staging(const Driver& driver, int64_t bytes) : driver_(driver) {
    driver_(driver_.host_allocate, &data_, static_cast<size_t>(bytes), 0u);
  }
  ~Staging() { driver_.host_free.function(data_); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  const Driver& driver_;
  void* data_ = nullptr;
};

}  // namespace

CallMemory::Block::Block(const Driver& the_driver, int64_t bytes) : driver(the_driver) {
  driver(driver.memory_allocate, &address, static_cast<size_t>(bytes));
}

CallMemory::Block::~Block() { driver.memory_free.function(address); }

CallMemory::CallMemory(const DeviceHandles& device, std::span<const TrialOperand> operands, int64_t scratch)
    : device_(device), memory_(device.driver, place(operands, scratch)) {
  const Driver& driver = device_.driver;
  for (size_t i = 0; i < operands.size(); ++i) fill(i, operands[i]);
  for (size_t copy = 1; one_ > 0 && copy < copies_; ++copy)
    driver(driver.copy_on_device, memory_.address + copy * static_cast<Address>(one_), memory_.address,
           static_cast<size_t>(one_), device_.stream);
  if (scratch > 0)
    driver(driver.fill_bytes, address_of(this->scratch()), static_cast<unsigned char>(0), static_cast<size_t>(scratch),
           device_.stream);
  driver(driver.stream_synchronize, device_.stream);
}

// Places the copies of all operands, the scratch memory and the memory that flushes the cache. Returns their bytes.
int64_t CallMemory::place(std::span<const TrialOperand> operands, int64_t scratch) {
  for (const TrialOperand& operand : operands) {
    offsets_.push_back(one_);
    one_ += aligned(operand.bytes);
  }
  const int64_t needed = one_ + aligned(scratch), flush = flush_bytes(device_);
  int64_t room = device_.driver.free_bytes() / 2 - needed;
  if (flush <= room) {
    flush_ = flush;
    room -= flush;
  }
  if (one_ > 0) {
    const int64_t wanted = std::min<int64_t>(ceil_div(flush, one_), kRuns);
    copies_ = static_cast<size_t>(std::max<int64_t>(std::min(wanted, 1 + room / one_), 1));
  }
  flush_at_ = static_cast<int64_t>(copies_) * one_ + aligned(scratch);
  return std::max(flush_at_ + flush_, kAlignment);
}

// Copies one piece from the host, and doubles it on the device. Every operand has another seed.
void CallMemory::fill(size_t i, const TrialOperand& operand) const {
  const int64_t size = size_of(operand.dtype), piece = std::min(operand.bytes, kPattern) / size * size;
  if (piece == 0) return;
  const Driver& driver = device_.driver;
  const Staging staging(driver, piece);
  std::mt19937 random(static_cast<uint32_t>(i + 1));
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (int64_t e = 0; e < piece / size; ++e) store_element(operand.dtype, staging.data(), e, uniform(random));
  const Address to = address_of(this->operand(0, i));
  driver(driver.copy_to_device, to, static_cast<const void*>(staging.data()), static_cast<size_t>(piece),
         device_.stream);
  for (int64_t done = piece; done < operand.bytes; done *= 2)
    driver(driver.copy_on_device, to + static_cast<Address>(done), to,
           static_cast<size_t>(std::min(done, operand.bytes - done)), device_.stream);
  driver(driver.stream_synchronize, device_.stream);
}

void CallMemory::flush() const {
  if (flush_ > 0)
    device_.driver(device_.driver.fill_bytes, address_of(at(flush_at_)), static_cast<unsigned char>(0),
                   static_cast<size_t>(flush_), device_.stream);
}

}  // namespace kb::cuda
