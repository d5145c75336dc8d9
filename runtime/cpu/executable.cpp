#include "runtime/cpu/executable.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "compiler/print/cpp.h"
#include "compiler/stopwatch.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/heartbeat.h"
#include "runtime/cpu/arena_guard.h"
#include "runtime/cpu/library.h"
#include "runtime/kernel_cache.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

// A kernel's function: runs tiles [begin, end) of a phase; see print_cpp.
using Entry = void (*)(void* const* buffers, const int64_t* arguments, int64_t phase, int64_t begin, int64_t end);

// A step with less work than this is run by the calling thread alone.
constexpr int64_t kAloneBytes = 64 << 10;
constexpr int64_t kAloneFlops = 256 << 10;

bool is_small(const Step& step) { return step.bytes < kAloneBytes && step.flops < kAloneFlops; }

// One schedule step with everything that it needs to run.
struct Call {
  Pool* pool = nullptr;
  Entry entry = nullptr;
  std::unique_ptr<LibraryOp> library;
  std::vector<void*> operands;
  std::vector<int64_t> arguments, tiles;  // a kernel's arguments, and the tiles of its phases
  std::vector<Copies::Part> parts;        // the parts of a copy
  size_t inputs = 0;
  void* scratch = nullptr;
  int32_t reduction = -1;  // number of the all-reduce of an exchange or a wait
  bool waits = false;
  int64_t elements = 0;  // elements of an exchange
  DType dtype = DType::f32;
};

void run_kernel(const Call& call) {
  for (size_t phase = 0; phase < call.tiles.size(); ++phase)
    call.pool->parallel(call.tiles[phase], [&](int64_t begin, int64_t end, int) {
      call.entry(call.operands.data(), call.arguments.data(), static_cast<int64_t>(phase), begin, end);
    });
}

void run_library(const Call& call) {
  std::span<void* const> all(call.operands);
  call.library->run(*call.pool, all.first(call.inputs), all.subspan(call.inputs), call.scratch);
}

void run_copies(const Call& call) {
  for (const Copies::Part& part : call.parts) {
    std::byte* to = static_cast<std::byte*>(call.operands.back()) + part.to;
    const auto bytes = static_cast<size_t>(part.bytes);
    if (part.from < 0)
      std::memset(to, 0, bytes);
    else
      std::memcpy(to, call.operands[static_cast<size_t>(part.from)], bytes);
  }
}

class CpuExecutable : public Executable {
 public:
  // `entries` are the functions of the schedule's kernels, in their order.
  CpuExecutable(const Schedule& schedule, const CpuEnvironment& environment, std::span<void* const> entries)
      : schedule_(schedule),
        guard_(schedule),
        communicator_(environment.communicator),
        among_(environment.among),
        heartbeat_(environment.heartbeat) {
    for (const Step& step : schedule.steps) calls_.push_back(make_call(step, environment, entries));
  }

  void bind(std::span<std::byte* const> buffers) override {
    auto address = [&](View view) -> void* {
      return view.buffer < 0 ? nullptr : buffers[static_cast<size_t>(view.buffer)] + view.offset;
    };
    for (size_t s = 0; s < calls_.size(); ++s) {
      const Step& step = schedule_.steps[s];
      for (size_t i = 0; i < step.operands.size(); ++i) calls_[s].operands[i] = address(step.operands[i]);
      if (const LibraryCall* call = step.call()) calls_[s].scratch = address(call->scratch);
    }
    guard_.bind(buffers);
  }

  void run() override {
    guard_.begin_run();
    for (size_t s = 0; s < calls_.size(); ++s) run(s);
  }

  std::vector<StepTime> profile() override {
    std::vector<StepTime> times(calls_.size());
    guard_.begin_run();
    const Clock::time_point begin = Clock::now();
    for (size_t s = 0; s < calls_.size(); ++s) {
      StepTime& time = times[s];
      const Clock::time_point start = Clock::now();
      run(s);
      time = {milliseconds(begin, start), milliseconds(start, Clock::now())};
      if (!calls_[s].waits) continue;
      time.reduction_start = milliseconds(begin, waited_.begin);
      time.reduction_end = milliseconds(begin, waited_.end);
    }
    return times;
  }

 private:
  Call make_call(const Step& step, const CpuEnvironment& environment, std::span<void* const> entries) {
    Call call;
    call.pool = is_small(step) ? &environment.alone : &environment.pool;
    call.inputs = static_cast<size_t>(step.inputs);
    call.operands.resize(step.operands.size());
    if (const KernelLaunch* launch = step.launch()) {
      call.entry = reinterpret_cast<Entry>(entries[static_cast<size_t>(launch->kernel)]);
      call.arguments = launch->arguments;
      call.tiles = launch->tiles;
    } else if (const LibraryCall* library = step.call()) {
      call.library = plan(step, *library, environment);
    } else if (const Copies* copies = step.copies()) {
      call.parts = copies->parts;
    } else {
      prepare_exchange(step, call);
    }
    return call;
  }

  void prepare_exchange(const Step& step, Call& call) {
    ensure(communicator_ != nullptr, "a program for several processes was loaded without a communicator");
    const Type& type = schedule_.node_of(step).type();
    call.reduction = step.reduction();
    call.waits = step.cls == FusionClass::wait;
    call.elements = type.elements();
    call.dtype = type.dtype;
    tickets_.resize(std::max(tickets_.size(), static_cast<size_t>(call.reduction) + 1));
  }

  std::unique_ptr<LibraryOp> plan(const Step& step, const LibraryCall& call, const CpuEnvironment& environment) const {
    std::unique_ptr<LibraryOp> op =
        plan_library(environment.library, *schedule_.graph, schedule_.node_of(step), call.epilogue, environment.shards);
    int64_t planned = call.scratch.buffer < 0 ? 0 : schedule_.buffers[static_cast<size_t>(call.scratch.buffer)].bytes;
    ensure(static_cast<int64_t>(op->scratch_bytes()) <= planned, "a library call wants more scratch than was planned");
    return op;
  }

  void run(size_t s) {
    guard_.begin_step(s);
    const Call& call = calls_[s];
    if (call.library)
      run_library(call);
    else if (call.entry)
      run_kernel(call);
    else if (call.reduction >= 0)
      run_exchange(s, call);
    else
      run_copies(call);
    guard_.end_step(s);
  }

  void run_exchange(size_t s, const Call& call) {
    if (heartbeat_) heartbeat_->at(schedule_.steps[s].name, call.waits);
    int64_t& ticket = tickets_[static_cast<size_t>(call.reduction)];
    if (!call.waits) {
      ticket = communicator_->all_reduce(static_cast<std::byte*>(call.operands[0]), call.elements, call.dtype, among_);
      return;
    }
    waited_ = communicator_->wait(ticket);
    if (heartbeat_) heartbeat_->waits(false);
  }

  const Schedule& schedule_;
  ArenaGuard guard_;
  Communicator* communicator_;
  const RankGroup among_;
  Heartbeat* heartbeat_;
  std::vector<Call> calls_;
  std::vector<int64_t> tickets_;  // tickets of the active all-reduces, by their numbers
  Interval waited_;               // interval of the last all-reduce that was waited for
};

// Returns the functions of the kernels of all schedules, one schedule after another. AddressSanitizer does not see the
// masked loads and stores of wide instruction sets, so its builds print portable vectors, which give the same bits.
std::vector<void*> load_entries(std::span<const Schedule* const> schedules, const CpuEnvironment& environment,
                                LoadReport& report) {
  int bytes = vector_bytes(kGuarded ? "portable" : environment.isa);
  KernelBatch batch;
  batch.prelude = cpp_prelude(bytes);
  for (const Schedule* schedule : schedules)
    for (const ir::Kernel& kernel : schedule->kernels) batch.kernels.push_back({kernel.name, print_cpp(kernel, bytes)});
  if (batch.kernels.empty()) return {};
  LoadedKernels loaded = load_kernels(batch, find_host_compiler(environment.options), environment.options.cache_dir,
                                      environment.compile_jobs);
  report += loaded;
  return std::move(loaded.entry);
}

}  // namespace

std::vector<std::unique_ptr<Executable>> make_cpu_executables(std::span<const Schedule* const> schedules,
                                                              const CpuEnvironment& environment, LoadReport& report) {
  std::vector<void*> entries = load_entries(schedules, environment, report);
  std::span<void* const> rest(entries);
  std::vector<std::unique_ptr<Executable>> result;
  const Stopwatch watch;
  for (const Schedule* schedule : schedules) {
    result.push_back(std::make_unique<CpuExecutable>(*schedule, environment, rest.first(schedule->kernels.size())));
    rest = rest.subspan(schedule->kernels.size());
  }
  report.library_milliseconds += watch.milliseconds();
  return result;
}

}  // namespace kb
