#include "recipes/run/start_time.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>
#include <string>

namespace kb {
namespace {

using std::chrono::nanoseconds;

nanoseconds read_clock(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

constexpr int kFieldsToStartTime = 19;  // of /proc/self/stat, behind the program's name in brackets: see proc(5)

// Since boot, in ticks of a hundredth of a second, rounded down; -1 where it cannot be read.
int64_t start_tick() {
  std::ifstream stat("/proc/self/stat");
  stat.ignore(std::numeric_limits<std::streamsize>::max(), ')');
  std::string skipped;
  for (int i = 0; i < kFieldsToStartTime; ++i) stat >> skipped;
  int64_t ticks = -1;
  stat >> ticks;
  return ticks;
}

}  // namespace

// A process that starts alone on its processor has been computing ever since: its processor time is its age, to a
// microsecond. Where it had to wait - for a disk, for other programs - the kernel's tick says more.
nanoseconds process_age(nanoseconds processor_time, nanoseconds since_boot, int64_t start_tick, nanoseconds tick) {
  if (start_tick < 0) return processor_time;
  const nanoseconds most = since_boot - start_tick * tick;
  return std::clamp(processor_time, std::max(most - tick, nanoseconds(0)), std::max(most, nanoseconds(0)));
}

std::chrono::steady_clock::time_point process_start() {
  const auto now = std::chrono::steady_clock::now();
  return now - process_age(read_clock(CLOCK_PROCESS_CPUTIME_ID), read_clock(CLOCK_BOOTTIME), start_tick(),
                           nanoseconds(std::chrono::seconds(1)) / sysconf(_SC_CLK_TCK));
}

}  // namespace kb
