#include "runtime/comm/start_room.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <limits>

#include "graph/error.h"
#include "runtime/usable_memory.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

// The memory of a process that has no model yet: with MPI it takes 10 MB of its own.
constexpr int64_t kLeastBytes = 10'000'000;
// mpirun holds 24 files and 3 for each process (OpenMPI 4.1), and a process some 20 and its data.
constexpr int64_t kFiles = 64, kFilesOfProcess = 4;

[[noreturn]] void refuse(int64_t processes, const std::string& expected, const std::string& got) {
  throw Error(fmt::format(
      "{} processes cannot be started on this machine\n  expected: {}\n  got:      {}\n"
      "  hint:     fewer --processes: virtual workers (--per-worker) give the same bits in any number of them",
      processes, expected, got));
}

}  // namespace

StartRoom start_room() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const bool is_bound = files.rlim_max < static_cast<rlim_t>(std::numeric_limits<int64_t>::max());
  return {.processors = usable_processors(),
          .memory = usable_memory(),
          .open_files = is_bound ? static_cast<int64_t>(files.rlim_max) : std::numeric_limits<int64_t>::max()};
}

void check_start_room(int64_t processes, const StartRoom& room) {
  if (processes > int64_t{kMostForProcessor} * room.processors)
    refuse(processes, fmt::format("at most {} for each processor", kMostForProcessor),
           fmt::format("{} processor{}", room.processors, room.processors == 1 ? "" : "s"));
  if (processes > room.memory / kLeastBytes)
    refuse(processes, fmt::format("{} MB of memory for each, at the least", kLeastBytes / 1'000'000),
           fmt::format("{} MB for all", room.memory / 1'000'000));
  if (processes > (room.open_files - kFiles) / kFilesOfProcess)
    refuse(processes, fmt::format("{} files that mpirun may have open", kFiles + kFilesOfProcess * processes),
           fmt::format("{} (ulimit -Hn)", room.open_files));
}

}  // namespace kb
