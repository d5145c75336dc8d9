// Executes one launch: blocks in turn, their threads as fibers, with barriers and warp exchanges.
#pragma once
#include <array>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "tests/simt/copies.h"
#include "tests/simt/fiber.h"
#include "tests/simt/shadow.h"
#include "tests/simt/unit.h"
#include "tests/simt/warpgroups.h"

namespace kb::simt {

// The memory of an `extern __shared__` array, at first NaNs of every type.
class DynamicShared {
 public:
  static constexpr uint32_t kMost = 1024;  // the widest alignment, in bytes

  explicit DynamicShared(int64_t bytes);
  // Returns a place that is a multiple of the alignment, and of nothing larger.
  void* data(uint32_t alignment) const { return data_.get() + alignment; }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{2 * kMost}); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

class Machine : private ProductMemory {
 public:
  // `watches` says that the unit reports its accesses.
  Machine(std::string name, const Entry& entry, const Launch& launch, std::span<void* const> parameters,
          std::span<const Region> memory, bool watches);

  LaunchCounts run();

  static const Hooks& hooks();

 private:
  enum class State : uint8_t { ready, at_barrier, at_exchange, ended };
  struct Thread {
    State state = State::ready;
    uint32_t line = 0;  // line in which it waits
    uint32_t mask = 0;
    uint32_t words = 0;               // number of words that it gives to the exchange
    const uint64_t* given = nullptr;  // they lie on its stack
    bool orders = false;              // true: the exchange is a __syncwarp
    Fiber* fiber = nullptr;
  };
  using Values = std::array<std::array<uint64_t, kLaneWords>, 32>;

  void check_launch() const;
  void add_memory(std::span<const Region> memory);
  void add_region(const Region& region);

  void block(uint32_t number);
  void resume(uint32_t thread);
  static void enter(void* machine);
  void new_order();
  // Continues the warps whose exchange is complete; returns whether there was one.
  bool finish_exchanges();
  bool finish_exchange(uint32_t first_thread);
  // Returns true when all threads have ended.
  bool finish_epoch();

  // These are called inside a fiber.
  [[noreturn]] void stop_at_fault();  // `fault_` has the fault
  void wait(State state, uint32_t line);
  Stamp now() const;
  void access(const void* at, uint32_t bytes, Use use);
  std::string judge(const void* at, uint32_t bytes, Use use);
  std::string out_of_bounds(uintptr_t at, uint32_t bytes, Use use) const;
  void shared(void* at, uint32_t element, uint32_t count, const char* name);
  void* dynamic_shared(uint32_t element, uint32_t alignment, const char* name);
  std::string too_much_shared() const;
  void copy(void* to, const void* from, bool there);
  std::string judge_copy(const void* to, const void* from, bool there);
  void wait_copies(uint32_t groups);
  uint32_t shared_address(const void* at);
  std::byte* in_window(uint32_t address) const;  // null outside shared memory
  std::string begin_read(uint32_t address) override;
  std::array<uint16_t, DescribedMatrix::kGroup> read(uint32_t address) const override;
  void end_read(uint32_t address) override;
  void multiply(float* sums, const WarpgroupProduct& product);
  void show_tensor_cores();
  void meet(uint32_t mask, uint32_t line, uint32_t words, const uint64_t* given, bool orders);
  void exchange(uint32_t mask, uint32_t line, uint32_t words, const uint64_t* given, uint64_t* all);
  void fence();
  void atomic(const void* at, uint32_t bytes);

  static thread_local Machine* running;

  const std::string name_;
  const Entry& entry_;
  const Launch& launch_;
  const std::vector<void*> parameters_;
  Unit& unit_;
  Shadow shadow_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> warp_epochs_;
  std::vector<Values> values_;  // words of each warp's last exchange
  std::vector<Copies> copies_;  // copies of each thread that are under way
  Warpgroups warpgroups_;
  std::vector<uint32_t> order_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::mt19937 random_;
  const bool watches_;
  struct SharedArray {
    std::byte* at;
    int64_t bytes;
    uint32_t window;  // its first address in the window, which repeats alignments up to 1024 bytes
  };
  bool declare_shared(void* at, int64_t bytes);  // false: it is known
  std::vector<SharedArray> shared_;              // the block's arrays in shared memory
  int64_t shared_bytes_ = 0;                     // bytes that its arrays take, without dynamic shared memory
  uint32_t dynamic_alignment_ = 1;
  DynamicShared dynamic_shared_;
  std::string fault_;
  uint32_t block_ = 0, thread_ = 0, epoch_ = 0, clock_ = 0;
  LaunchCounts counts_;
};

}  // namespace kb::simt
