#include "tests/simt/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__)
#error "fibers are written for x86-64: switch_stacks and Fiber::start need this processor's calling convention"
#endif

// Saves the registers that a call preserves on the present stack, stores the stack pointer in *rdi, and switches to the
// stack at rsi.
asm(R"(
.text
.type kb_simt_switch_stacks, @function
kb_simt_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size kb_simt_switch_stacks, . - kb_simt_switch_stacks
)");
extern "C" void kb_simt_switch_stacks(void** save, void* stack);

namespace kb::simt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPreserved = 6;  // number of registers that kb_simt_switch_stacks pops

// The fiber that is being resumed, for its first function, which takes no arguments.
thread_local Fiber* entering = nullptr;

// Mappings of fibers that have ended, each a page without access and a stack. This thread's next fibers reuse them: a
// launch makes a fiber for each of its threads, and making a mapping takes longer than most of them run.
struct Mappings {
  std::vector<std::byte*> free;

  Mappings() = default;
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;
  ~Mappings() {
    for (std::byte* mapping : free) ::munmap(mapping, kPage + Fiber::kStackBytes);
  }

  std::byte* take() {
    if (!free.empty()) {
      std::byte* mapping = free.back();
      free.pop_back();
      return mapping;
    }
    void* memory = ::mmap(nullptr, kPage + Fiber::kStackBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for a stack");
    ::mprotect(memory, kPage, PROT_NONE);
    return static_cast<std::byte*>(memory);
  }
};

thread_local Mappings mappings;

}  // namespace

Fiber::Fiber() : mapping_(mappings.take()), stack_(mapping_ + kPage) {
#if defined(__SANITIZE_THREAD__)
  own_shadow_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(stack_, kStackBytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(own_shadow_);
#endif
  mappings.free.push_back(mapping_);
}

void Fiber::start(void (*body)(void*), void* argument) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(stack_, kStackBytes);
  own_shadow_ = nullptr;
#endif
  body_ = body;
  argument_ = argument;
  // enter() expects the stack as after a call: 8 bytes past a multiple of 16. A null return address ends back traces.
  auto* top = reinterpret_cast<uint64_t*>(stack_ + kStackBytes);
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(&Fiber::enter);
  for (size_t i = 0; i < kPreserved; ++i) *--top = 0;
  own_ = top;
}

void Fiber::resume() {
  entering = this;
#if defined(__SANITIZE_ADDRESS__)
  void* shadow = nullptr;
  __sanitizer_start_switch_fiber(&shadow, stack_, kStackBytes);
#elif defined(__SANITIZE_THREAD__)
  caller_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_shadow_, 0);
#endif
  kb_simt_switch_stacks(&caller_, own_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(shadow, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  leave(false);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(own_shadow_, &caller_stack_, &caller_stack_bytes_);
#endif
}

void Fiber::leave(bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &own_shadow_, caller_stack_, caller_stack_bytes_);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(caller_shadow_, 0);
#endif
  (void)for_good;
  kb_simt_switch_stacks(&own_, caller_);
}

void Fiber::enter() {
  Fiber& self = *entering;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self.caller_stack_, &self.caller_stack_bytes_);
#endif
  self.body_(self.argument_);
  self.leave(true);
}

}  // namespace kb::simt
