// The interface between a session and a processor: a target to compile for, memory, executables made from schedules,
// and a runner that takes steps. A device with its own memory gets a step enqueued and computes it while the host
// continues.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "compiler/schedule.h"
#include "compiler/target.h"
#include "runtime/kernel_batch.h"
#include "runtime/profile.h"
#include "runtime/rank_group.h"

namespace kb {

// A block of memory, zeroed at first. The destructor frees it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() = 0;  // the host may touch it only if Backend::host_visible()
  virtual int64_t bytes() const = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Sets the address of each buffer of the schedule; called before the first run and whenever memory moves.
  virtual void bind(std::span<std::byte* const> buffers) = 0;
  // Makes the program run in lane 1: beside what lane 0 computes (PartCall::lane). Only a GPU has two.
  virtual void use_second_lane() {}
  // Computes the program, or enqueues it after all that was enqueued before in its lane.
  virtual void run() = 0;
  // Runs once with a clock around every schedule step, and waits for it. Returns the times since the start of the run.
  virtual std::vector<StepTime> profile() = 0;
};

// The programs, routines, inputs and outputs that a runner is made from.
struct RunnerParts {
  struct Input {
    std::string name;
    Type type;
  };
  struct Output {
    size_t program = 0;
    View view;
    int64_t bytes = 0;
  };
  // A routine is a sequence of programs, by their numbers. The first routine ends a step: it computes the outputs.
  using Routine = std::vector<size_t>;

  std::vector<int32_t> lanes;  // the lane of each program
  // One for each program; a schedule may serve several programs with different memory.
  std::vector<const Schedule*> schedules;
  std::vector<std::unique_ptr<Executable>> programs;
  std::vector<Routine> routines;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  // Gives the memory of every buffer that is not an input.
  std::function<std::byte*(size_t program, const Buffer&)> address;
};

// Takes steps: it moves inputs to the processor, runs the routines, and moves results back.
class Runner {
 public:
  virtual ~Runner() = default;
  // Returns host memory for an input, which the caller fills whole before the next run. An input for which this is not
  // called keeps its value. The memory of a scalar (rank 0) always holds its value and may be left as it is.
  virtual std::byte* input(size_t i) = 0;
  // Stands in for input() and saves a copy: the value for the next run is at `from`, in memory from
  // Backend::allocate_host. It must stay there until depth() - 1 more runs were asked for, or the outputs were read.
  // Every later run needs another call.
  virtual void lend(size_t i, const std::byte* from) = 0;
  // Returns the number of runs, the last one included, whose inputs may still be on their way.
  virtual int depth() const = 0;
  // Runs one routine. It allocates nothing once each routine has run a few times.
  virtual void run(size_t routine = 0) = 0;
  // Returns how many steps later a result should be read so that the device never waits for the host: 1 if the only
  // routine is the step, else 0.
  virtual int lag() const = 0;
  // Returns host memory that holds an output of the last step, or with `age` 1 of the step before, until the next run.
  // `age` 1 needs lag() = 1 and an output of at most kKeptOutputBytes. Waits for that step.
  virtual const std::byte* output(size_t i, int age) = 0;
  // Waits for all steps.
  virtual void wait() = 0;
  // Runs the routine that ends a step, with a clock around every part.
  virtual Profile profile() = 0;
};

// Outputs up to this size are copied to the host with every step.
inline constexpr int64_t kKeptOutputBytes = 64 << 10;

// The cost of one call of load(), over all its schedules.
struct LoadReport : KernelCost {
  double library_milliseconds = 0;  // time to make library primitives
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string description() const = 0;  // a text: "cpu: avx512, 2 threads, 2 shards, oneDNN 2.6.3 with amx"
  virtual const Target& target() const = 0;
  // Returns the library that computes convolutions and matmuls, and the instructions that it uses: "oneDNN 2.6.3 with
  // amx". Another library or other instructions may change the bits of a run.
  virtual std::string library() const = 0;
  // Returns the dtype in which convolutions and matmuls of `dtype` are computed: `dtype` itself, or f32, which they
  // round.
  virtual DType library_dtype(DType dtype) const = 0;
  // The map has the implementations that were chosen by measuring, a library's or the backend's own: from a call to
  // what computes it. A resumed run gives them back before anything is compiled, and so computes the same bits. A CPU
  // makes no such choices.
  using AlgorithmChoices = std::map<std::string, std::string>;
  virtual AlgorithmChoices algorithm_choices() const { return {}; }
  virtual void use_algorithm_choices(const AlgorithmChoices&) {}

  virtual std::unique_ptr<DeviceMemory> allocate(int64_t bytes) = 0;
  // Allocates host memory from which inputs may be lent. It is page-locked if a device copies out of it.
  virtual std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) = 0;
  // Returns the bytes, used and free, that allocate() takes from: a device's, or the host's as far as usable.
  virtual int64_t memory_bytes() const = 0;
  // Returns the bytes of it that no process uses now; all of it if that is unknown.
  virtual int64_t free_bytes() const { return memory_bytes(); }
  // Returns whether the host can read and write the memory that allocate() gives.
  virtual bool host_visible() const = 0;
  // Copy between the backend's memory and the host's, after all that was enqueued. They return when the copy is done.
  virtual void upload(std::byte* target, const std::byte* source, int64_t bytes) = 0;
  virtual void download(std::byte* target, const std::byte* source, int64_t bytes) = 0;

  // Returns one executable for each schedule; the kernels of all are compiled together. The schedules must outlive the
  // executables. Their all-reduces sum among the ranks of a group.
  virtual std::vector<std::unique_ptr<Executable>> load(std::span<const Schedule* const> schedules,
                                                        const RankGroup& among, LoadReport& report) = 0;
  // Binds the programs to memory and returns a runner. The schedules must outlive it.
  virtual std::unique_ptr<Runner> make_runner(RunnerParts parts) = 0;
};

class Communicator;
class Heartbeat;

struct CpuOptions {
  int threads = 0;                       // 0 stands for all cores
  int shards = 0;                        // number of parts of the samples in library calls; 0: number of cores
  std::string cache_directory;           // "": the environment names it (runtime/options.h)
  Communicator* communicator = nullptr;  // connects several processes; must outlive the backend
  Heartbeat* heartbeat = nullptr;        // if given, it is told of every exchange
  bool narrow_weight_gradients = false;  // weight gradients are in 16 bits, as on a GPU: see Target
};
// Throws Error when the number of threads is not in [0, kMostThreads] (runtime/usable_processors.h).
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace kb
