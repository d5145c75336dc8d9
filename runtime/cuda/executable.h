// Schedules on a device. Generated kernels, library calls and copies are enqueued on the stream of their lane. Sums
// over ranks are enqueued on the communication stream and run beside the computation until they are waited for.
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

// The parts that all executables of one backend share. They must outlive the executables.
struct Environment {
  const OpenDevice& device;
  Compiler& compiler;
  DeviceLibrary& library;
  const Target& target;
  int ranks = 0;                     // number of processes; 0: programs are for one process
  Collective* collective = nullptr;  // null if there is one rank
  RankGroup among = {};              // ranks with which the programs sum
  Heartbeat* heartbeat = nullptr;    // if given, it is told of every exchange that is not replayed
  bool sync_steps = false;           // see CudaOptions
};

// Makes one executable for each schedule. The kernels of all are printed and compiled as one batch. The first run of an
// executable, and with sync_steps every run, waits after each step, so that an error names the step and the user's
// line; such a run may not be captured.
std::vector<std::unique_ptr<Executable>> make_executables(std::span<const Schedule* const> schedules,
                                                          const Environment& environment, LoadReport& report);

}  // namespace kb::cuda
