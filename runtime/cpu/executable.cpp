#include "runtime/cpu/executable.h"

#include <chrono>
#include <cstring>

#include "compiler/print_cpp.h"
#include "runtime/cpu/library_plan.h"
#include "runtime/kernel_cache.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

// extern "C" void NAME(void* const* buffers, const long* arguments, long phase, long begin, long end): tiles [begin, end) of a phase.
using Entry = void (*)(void* const*, const int64_t*, int64_t, int64_t, int64_t);

// One schedule step, ready to run: everything it reads lies in it.
struct Call {
  FusionClass cls = FusionClass::copy;
  Entry entry = nullptr;
  std::unique_ptr<LibraryOp> library;
  std::vector<void*> operands;
  std::vector<int64_t> arguments, tiles;
  size_t inputs = 0;
  void* scratch = nullptr;
};

void copy(const Call& call) {
  auto* to = static_cast<std::byte*>(call.operands.back());
  for (size_t i = 0; i + 2 < call.arguments.size(); i += 3) {
    auto bytes = static_cast<size_t>(call.arguments[i + 1]);
    int64_t from = call.arguments[i + 2];
    if (from < 0) std::memset(to + call.arguments[i], 0, bytes);
    else std::memcpy(to + call.arguments[i], call.operands[static_cast<size_t>(from)], bytes);
  }
}

class CpuExecutable : public Executable {
 public:
  CpuExecutable(const Schedule& schedule, CpuEnvironment environment, LoadReport& report)
      : schedule_(schedule), environment_(std::move(environment)) {
    std::vector<Entry> entries = load(report);
    Clock::time_point start = Clock::now();
    for (const Step& step : schedule.steps) {
      Call call;
      call.cls = step.cls;
      call.arguments = step.arguments;
      call.tiles = step.tiles;
      call.inputs = static_cast<size_t>(step.inputs);
      call.operands.resize(step.operands.size());
      if (step.kernel >= 0) call.entry = entries[static_cast<size_t>(step.kernel)];
      if (step.cls == FusionClass::library)
        call.library = plan_library(environment_.library, *schedule.graph, schedule.graph->nodes[static_cast<size_t>(step.node)], step.epilogue,
                                    environment_.shards);
      calls_.push_back(std::move(call));
    }
    report.library_milliseconds += since(start);
  }

  void bind(std::span<std::byte* const> buffers) override {
    auto address = [&](View view) -> void* { return view.buffer < 0 ? nullptr : buffers[static_cast<size_t>(view.buffer)] + view.offset; };
    for (size_t s = 0; s < calls_.size(); ++s) {
      const Step& step = schedule_.steps[s];
      for (size_t i = 0; i < step.operands.size(); ++i) calls_[s].operands[i] = address(step.operands[i]);
      calls_[s].scratch = address(step.scratch);
    }
  }

  void run() override {
    for (Call& call : calls_) run(call);
  }

  std::vector<StepTime> profile() override {
    std::vector<StepTime> times;
    for (Call& call : calls_) {
      Clock::time_point start = Clock::now();
      run(call);
      times.push_back({since(start)});
    }
    return times;
  }

 private:
  std::vector<Entry> load(LoadReport& report) {
    if (schedule_.kernels.empty()) return {};
    KernelBatch batch;
    batch.prelude = cpp_prelude();
    for (const ir::Kernel& kernel : schedule_.kernels) batch.kernels.push_back({kernel.name, print_cpp(kernel)});
    HostCompiler compiler = find_host_compiler(environment_.options);
    LoadedKernels loaded = load_kernels(batch, compiler, environment_.options.cache_dir, environment_.pool.threads());
    report.cache_hits += loaded.cache_hits;
    report.compiled += loaded.compiled;
    report.jit_milliseconds += loaded.jit_ms;
    std::vector<Entry> entries;
    for (void* entry : loaded.entry) entries.push_back(reinterpret_cast<Entry>(entry));
    return entries;
  }

  void run(Call& call) {
    if (call.library) {
      std::span<void* const> all(call.operands);
      call.library->run(environment_.pool, all.first(call.inputs), all.subspan(call.inputs), call.scratch);
    } else if (call.entry) {
      for (size_t phase = 0; phase < call.tiles.size(); ++phase)
        environment_.pool.parallel(call.tiles[phase], [&](int64_t begin, int64_t end, int) {
          call.entry(call.operands.data(), call.arguments.data(), static_cast<int64_t>(phase), begin, end);
        });
    } else {
      copy(call);
    }
  }

  const Schedule& schedule_;
  CpuEnvironment environment_;
  std::vector<Call> calls_;
};

}  // namespace

std::unique_ptr<Executable> make_cpu_executable(const Schedule& schedule, CpuEnvironment environment, LoadReport& report) {
  return std::make_unique<CpuExecutable>(schedule, std::move(environment), report);
}

}  // namespace kb
