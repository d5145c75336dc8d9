// Schedules on the CPU: the tiles of printed kernels run on the pool, and library calls and copies are made.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cpu/library.h"
#include "runtime/cpu/pool.h"
#include "runtime/options.h"

namespace kb {

// The parts that all executables of one backend share. They must outlive the executables.
struct CpuEnvironment {
  Pool& pool;
  Pool& alone;  // the calling thread alone: for steps with less work than waking the others takes
  LibraryContext& library;
  const RuntimeOptions& options;
  std::string isa;       // instruction set of the kernels, see Target::isa
  int shards = 1;        // number of shards of library calls
  int compile_jobs = 1;  // most compiler processes at once
  Communicator* communicator = nullptr;
  RankGroup among = {};  // ranks with which the programs sum
  Heartbeat* heartbeat = nullptr;
};

// Makes one executable for each schedule. The kernels of all schedules are printed, looked up and compiled as one
// batch.
std::vector<std::unique_ptr<Executable>> make_cpu_executables(std::span<const Schedule* const> schedules,
                                                              const CpuEnvironment& environment, LoadReport& report);

}  // namespace kb
