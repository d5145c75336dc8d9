// Schedules bound to a device: generated kernels, library calls and copies, enqueued on the compute stream, and sums
// over ranks on the stream of communication, beside what is computed until they are waited for.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cuda/collective.h"
#include "runtime/cuda/compiler.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/library.h"

namespace kb::cuda {

// The parts that all executables of one backend share; they outlive the executables.
struct Environment {
  const OpenDevice& device;
  Compiler& compiler;
  DeviceLibrary& library;
  const Target& target;
  int ranks = 0;                     // of programs for several processes; 0: there may be none
  Collective* collective = nullptr;  // where there are several ranks
  Heartbeat* heartbeat = nullptr;    // is told of every exchange that is not replayed; may be absent
  bool sync_steps = false;           // see CudaOptions
};

// Kernels of all schedules are printed and compiled as one batch. The first run of an executable - with
// sync_steps every one - waits after every step, so that a step that fails is told by its name and the user's line; it
// may not be captured.
std::vector<std::unique_ptr<Executable>> make_executables(std::span<const Schedule* const> schedules,
                                                          const Environment& environment, LoadReport& report);

}  // namespace kb::cuda
