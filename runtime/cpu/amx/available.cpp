// Asks the processor and the system for matrix tiles.
#include "runtime/cpu/amx_available.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kb::amx {

#if defined(__x86_64__) && defined(__linux__)

namespace {

// Intel's manual, volume 1, 18.3: leaf 7 tells of AMX-BF16 (bit 22) and AMX-TILE (bit 24). Linux gives a process the
// state of tiles, component 18, only if it asks (Documentation/x86/xstate.rst).
bool ask() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const unsigned needed = 1U << 22 | 1U << 24;
  if ((d & needed) != needed || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
    return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool available() {
  static const bool answer = ask();
  return answer;
}

#else

bool available() { return false; }

#endif

}  // namespace kb::amx
