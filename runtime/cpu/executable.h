// A schedule bound to the CPU: printed kernels by tiles over the pool, library calls, copies.
#pragma once
#include <memory>

#include "runtime/backend.h"
#include "runtime/cpu/library.h"
#include "runtime/cpu/pool.h"
#include "runtime/options.h"

namespace kb {

struct CpuEnvironment {
  Pool& pool;
  LibraryContext& library;
  RuntimeOptions options;
  int shards = 1;
};

std::unique_ptr<Executable> make_cpu_executable(const Schedule& schedule, CpuEnvironment environment, LoadReport& report);

}  // namespace kb
