// Schedules bound to the CPU: printed kernels by tiles over the pool, library calls, copies.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cpu/library.h"
#include "runtime/cpu/pool.h"
#include "runtime/options.h"

namespace kb {

// The parts that all executables of one backend share; they outlive the executables.
struct CpuEnvironment {
  Pool& pool;
  Pool& alone;  // of the calling thread: for steps with less work than it takes to wake the others
  LibraryContext& library;
  const RuntimeOptions& options;
  std::string isa;       // Target::isa
  int shards = 1;        // of library calls
  int compile_jobs = 1;  // compiler processes at once
  Communicator* communicator = nullptr;
  Heartbeat* heartbeat = nullptr;
};

// Kernels of all schedules are printed, looked up and compiled as one batch.
std::vector<std::unique_ptr<Executable>> make_cpu_executables(std::span<const Schedule* const> schedules,
                                                              const CpuEnvironment& environment, LoadReport& report);

}  // namespace kb
