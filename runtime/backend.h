// What a processor offers to a session: a target to compile for, memory, and executables made from schedules.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "compiler/schedule.h"
#include "compiler/target.h"

namespace kb {

// Memory of one allocation, zeroed and touched; freed with it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() = 0;
  virtual int64_t bytes() const = 0;
};

// Time of one schedule step, for profiles.
struct StepTime {
  double milliseconds = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Where each buffer of the schedule lies; called once before the first run and whenever memory moves.
  virtual void bind(std::span<std::byte* const> buffers) = 0;
  virtual void run() = 0;
  // One run with a clock around every step.
  virtual std::vector<StepTime> profile() = 0;
};

// Sums over all that was loaded with it.
struct LoadReport {
  int64_t cache_hits = 0, compiled = 0;  // distinct kernels
  double jit_milliseconds = 0;           // kernels: cache look-up, host compiler, loading
  double library_milliseconds = 0;       // library primitives
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string description() const = 0;  // "cpu: avx512, 2 threads, 2 shards, oneDNN 2.6.3"
  virtual const Target& target() const = 0;
  // The dtype in which convolutions and matmuls of `dtype` are computed here: itself, or f32, out of which they round.
  virtual DType library_dtype(DType dtype) const = 0;
  virtual std::unique_ptr<DeviceMemory> allocate(int64_t bytes) = 0;
  // One executable a schedule; the kernels of all are compiled together. The schedules must outlive the executables.
  virtual std::vector<std::unique_ptr<Executable>> load(std::span<const Schedule* const> schedules,
                                                        LoadReport& report) = 0;
};

struct CpuOptions {
  int threads = 0;              // 0 = all cores
  int shards = 0;               // fixed sample shards of library calls; 0 = number of cores
  std::string cache_directory;  // "" = from the environment (runtime/options.h)
};
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace kb
