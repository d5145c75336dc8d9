// Interface of a processor to a session: a target to compile for, memory, executables made from schedules, and a runner
// that takes steps with them. On a device with its own memory a step is enqueued and goes on while the host does.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "compiler/schedule.h"
#include "compiler/target.h"
#include "runtime/profile.h"

namespace kb {

// Memory of one allocation, zeroed; freed with it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() = 0;  // for the host to touch only where Backend::host_visible()
  virtual int64_t bytes() const = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Sets the address of each buffer of the schedule; called before the first run and whenever memory moves.
  virtual void bind(std::span<std::byte* const> buffers) = 0;
  // Computes, or enqueues behind all that was enqueued before.
  virtual void run() = 0;
  // One run with a clock around every step, waited for: times from its start.
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
  // Programs that run one behind the other, by their numbers. The first routine ends a step: it gives the outputs.
  using Routine = std::vector<size_t>;

  std::vector<const Schedule*> schedules;  // of the programs; one schedule may stand in several, bound to other memory
  std::vector<std::unique_ptr<Executable>> programs;
  std::vector<Routine> routines;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::function<std::byte*(size_t program, const Buffer&)> address;  // of every buffer that is no input
};

// Takes steps: inputs on their way in, the routines, results on their way back.
class Runner {
 public:
  virtual ~Runner() = default;
  // Host memory of an input, until the next run, to be filled whole; an input that is not asked for keeps its value. A
  // scalar (rank 0) always holds its value and may be left alone.
  virtual std::byte* input(size_t i) = 0;
  // In place of input(), without a copy: the value of the next run is at `from`, in memory of Backend::allocate_host,
  // and stays there until depth() - 1 more runs were asked for, or the outputs were read. Every later run must be given
  // the input anew.
  virtual void lend(size_t i, const std::byte* from) = 0;
  // How many runs, the last one included, may still have their inputs on the way.
  virtual int depth() const = 0;
  // One routine. Allocates nothing once each has run a few times.
  virtual void run(size_t routine = 0) = 0;
  // How many steps behind the last one results should be read so that the device never waits for the host: 0, or 1
  // where the only routine is the step.
  virtual int lag() const = 0;
  // Host memory of an output of the last step, or with `age` 1 (where lag() is 1, for outputs of at most
  // kKeptOutputBytes) of the one before, until the next run. Waits for that step.
  virtual const std::byte* output(size_t i, int age) = 0;
  // Waits for all steps.
  virtual void wait() = 0;
  // The routine that ends a step, with a clock around every part.
  virtual Profile profile() = 0;
};

// Outputs up to this size come back with every step.
inline constexpr int64_t kKeptOutputBytes = 64 << 10;

// Sums over all that was loaded with it.
struct LoadReport {
  int64_t cache_hits = 0, compiled = 0;  // distinct kernels
  double jit_milliseconds = 0;           // kernels: cache look-up, compiler, loading
  double library_milliseconds = 0;       // library primitives
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string description() const = 0;  // "cpu: avx512, 2 threads, 2 shards, oneDNN 2.6.3 with amx"
  virtual const Target& target() const = 0;
  // Names the library that computes convolutions and matmuls, and the instructions that it uses: "oneDNN 2.6.3 with
  // amx". With another library or other instructions the bits of a run may differ.
  virtual std::string library() const = 0;
  // The dtype in which convolutions and matmuls of `dtype` are computed here: itself, or f32, out of which they round.
  virtual DType library_dtype(DType dtype) const = 0;
  // Choices among a library's implementations that were made by measuring, from a call to what does it. Given back
  // before anything is compiled they are used as they are: a run that goes on computes the same bits. None on a CPU.
  using AlgorithmChoices = std::map<std::string, std::string>;
  virtual AlgorithmChoices algorithm_choices() const { return {}; }
  virtual void use_algorithm_choices(const AlgorithmChoices&) {}

  virtual std::unique_ptr<DeviceMemory> allocate(int64_t bytes) = 0;
  // Memory of the host that inputs may be lent from: page-locked where a device copies out of it.
  virtual std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) = 0;
  // Returns the bytes of the memory that `allocate` takes from, used and free together.
  virtual int64_t memory_bytes() const = 0;
  // Bytes of it that no process holds now; all of it where that is not known.
  virtual int64_t free_bytes() const { return memory_bytes(); }
  // Whether the host reads and writes what `allocate` gives as its own memory.
  virtual bool host_visible() const = 0;
  // Between the backend's memory and the host's, behind all that was enqueued; done at return.
  virtual void upload(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void download(std::byte* to, const std::byte* from, int64_t bytes) = 0;

  // One executable a schedule; the kernels of all are compiled together. The schedules must outlive the executables.
  virtual std::vector<std::unique_ptr<Executable>> load(std::span<const Schedule* const> schedules,
                                                        LoadReport& report) = 0;
  // Binds the programs to memory. The schedules must outlive the runner.
  virtual std::unique_ptr<Runner> make_runner(RunnerParts parts) = 0;
};

class Communicator;
class Heartbeat;

struct CpuOptions {
  int threads = 0;                       // 0 = all cores
  int shards = 0;                        // fixed sample shards of library calls; 0 = number of cores
  std::string cache_directory;           // "" = from the environment (runtime/options.h)
  Communicator* communicator = nullptr;  // of programs for several processes; outlives the backend
  Heartbeat* heartbeat = nullptr;        // is told of every exchange; may be absent
  bool narrow_weight_gradients = false;  // as a GPU has them in 16 bits: see Target
};
// Throws Error for threads outside of [0, kMostThreads] (runtime/usable_processors.h).
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace kb
