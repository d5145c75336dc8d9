#include "runtime/cuda/executable.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include "compiler/print_cuda.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/modules.h"

namespace kb::cuda {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// One schedule step, ready to be enqueued.
struct Call {
  Kernel kernel = nullptr;
  unsigned blocks = 0, threads = 0;
  std::unique_ptr<LibraryOp> library;
  std::vector<void*> operands;
  std::vector<int64_t> arguments;
  std::vector<void*> parameters;  // a kernel's: the place of each operand, of each argument; a null pointer behind them
  size_t inputs = 0;
  void* scratch = nullptr;
};

// Numbers of the buffers that count finished blocks.
std::vector<size_t> counters_of(std::span<const ir::Instr> body) {
  std::vector<size_t> result;
  for (const ir::Instr& instr : body) {
    if (instr.code == ir::Code::last_block) result.push_back(static_cast<size_t>(instr.buffer));
    const std::vector<size_t> inner = counters_of(instr.body);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

class CudaExecutable : public Executable {
 public:
  // `kernels`: of the schedule, in their order. `modules` holds them.
  CudaExecutable(const Schedule& schedule, const Environment& environment, std::shared_ptr<const Modules> modules,
                 std::span<const Kernel> kernels)
      : schedule_(schedule),
        device_(environment.device),
        modules_(std::move(modules)),
        sync_steps_(environment.sync_steps) {
    for (const ir::Kernel& kernel : schedule.kernels) counter_buffers_.push_back(counters_of(kernel.phases.at(0).body));
    place_counters();
    calls_.resize(schedule.steps.size());
    for (size_t s = 0; s < calls_.size(); ++s) at_step(s, [&] { prepare(s, environment, kernels); });
  }

  void bind(std::span<std::byte* const> buffers) override {
    auto address = [&](View view) -> void* {
      return view.buffer < 0 ? nullptr : buffers[static_cast<size_t>(view.buffer)] + view.offset;
    };
    for (size_t s = 0; s < calls_.size(); ++s) {
      const Step& step = schedule_.steps[s];
      for (size_t i = 0; i < step.operands.size(); ++i) calls_[s].operands[i] = address(step.operands[i]);
      calls_[s].scratch = address(step.scratch);
      if (step.kernel < 0) continue;
      for (size_t buffer : counter_buffers_[static_cast<size_t>(step.kernel)])
        calls_[s].operands[buffer] = counters_->data() + counter_offsets_.at({s, buffer});
    }
  }

  void run() override {
    for (size_t s = 0; s < calls_.size(); ++s)
      at_step(s, [&] {
        enqueue(calls_[s]);
        if (!has_run_ || sync_steps_) device_.driver(device_.driver.stream_synchronize, device_.compute);
      });
    has_run_ = true;
  }

  std::vector<StepTime> profile() override {
    std::vector<EventHandle> events;
    for (size_t s = 0; s <= calls_.size(); ++s) events.emplace_back(device_.driver, kEventTimed);
    events[0].record(device_.compute);
    for (size_t s = 0; s < calls_.size(); ++s)
      at_step(s, [&] {
        enqueue(calls_[s]);
        events[s + 1].record(device_.compute);
      });
    events.back().synchronize();
    std::vector<StepTime> times(calls_.size());
    for (size_t s = 0; s < calls_.size(); ++s)
      times[s] = {events[s].milliseconds_since(events[0]), events[s + 1].milliseconds_since(events[s])};
    return times;
  }

 private:
  // Each launch has counters of its own, as many as its planned buffer holds.
  void place_counters() {
    int64_t bytes = 0;
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      const Step& step = schedule_.steps[s];
      if (step.kernel < 0) continue;
      for (size_t buffer : counter_buffers_[static_cast<size_t>(step.kernel)]) {
        counter_offsets_[{s, buffer}] = bytes;
        bytes += schedule_.buffers[static_cast<size_t>(step.operands[buffer].buffer)].bytes;
      }
    }
    counters_ = allocate_device(device_, bytes);
  }

  // Adds to whatever `work` throws which step it was and the user's line.
  template <class Work>
  void at_step(size_t s, Work work) const {
    try {
      work();
    } catch (const CallError& error) {
      throw InternalError(error.failure() + place(s));
    } catch (const InternalError& error) {
      throw InternalError(error.what() + place(s));
    } catch (const Error& error) {
      throw Error(error.what() + place(s));
    }
  }

  std::string place(size_t s) const {
    const Step& step = schedule_.steps[s];
    std::string text = fmt::format("\n  in step {} of {}: {}", s, schedule_.name, step.name);
    const int32_t node = step.node >= 0 ? step.node : step.nodes.empty() ? -1 : step.nodes.back();
    if (node < 0) return text;
    const std::string line = schedule_.graph->place(schedule_.graph->nodes[static_cast<size_t>(node)]);
    return line.empty() ? text : text + "\n  at " + line;
  }

  void prepare(size_t s, const Environment& environment, std::span<const Kernel> kernels) {
    const Step& step = schedule_.steps[s];
    Call& call = calls_[s];
    call.arguments = step.arguments;
    call.operands.resize(step.operands.size());
    call.inputs = static_cast<size_t>(step.inputs);
    ensure(step.reduction < 0, "a program for several processes was loaded without a communicator");
    if (step.cls == FusionClass::library) call.library = plan(step, environment);
    if (step.kernel >= 0) prepare_kernel(step, kernels[static_cast<size_t>(step.kernel)], call);
  }

  void prepare_kernel(const Step& step, Kernel kernel, Call& call) const {
    const ir::Kernel& ir = schedule_.kernels[static_cast<size_t>(step.kernel)];
    ensure(ir.phases.size() == 1 && step.tiles.size() == 1, "a kernel for a GPU has one phase");
    ensure(ir.block_threads > 0, "a kernel for a GPU has threads");
    ensure(ir.buffers.size() == step.operands.size() && static_cast<size_t>(ir.arguments) == step.arguments.size(),
           "a launch has other operands than its kernel");
    ensure(step.tiles[0] <= std::numeric_limits<int32_t>::max(), "a launch has more blocks than a grid");
    call.kernel = kernel;
    call.blocks = static_cast<unsigned>(step.tiles[0]);
    call.threads = static_cast<unsigned>(ir.block_threads);
    for (void*& operand : call.operands) call.parameters.push_back(&operand);
    for (int64_t& argument : call.arguments) call.parameters.push_back(&argument);
    call.parameters.push_back(nullptr);
  }

  std::unique_ptr<LibraryOp> plan(const Step& step, const Environment& environment) const {
    const Node& node = schedule_.graph->nodes[static_cast<size_t>(step.node)];
    std::unique_ptr<LibraryOp> op = environment.library.plan(*schedule_.graph, node, step.epilogue);
    const int64_t planned =
        step.scratch.buffer < 0 ? 0 : schedule_.buffers[static_cast<size_t>(step.scratch.buffer)].bytes;
    ensure(op->scratch_bytes() <= planned, "a library call wants more scratch than was planned");
    return op;
  }

  void enqueue(Call& call) const {
    if (call.library)
      enqueue_library(call);
    else if (call.kernel)
      launch(call);
    else
      enqueue_copies(call);
  }

  void enqueue_library(const Call& call) const {
    std::span<void* const> all(call.operands);
    call.library->enqueue(device_.compute, all.first(call.inputs), all.subspan(call.inputs), call.scratch);
  }

  void launch(Call& call) const {
    if (call.blocks == 0) return;
    device_.driver(device_.driver.launch, call.kernel, call.blocks, 1u, 1u, call.threads, 1u, 1u, 0u, device_.compute,
                   call.parameters.data(), static_cast<void**>(nullptr));
  }

  // Triples of arguments: where to, how many bytes, from which operand (-1: zeros).
  void enqueue_copies(const Call& call) const {
    const Driver& driver = device_.driver;
    const Address to = address_of(call.operands.back());
    for (size_t i = 0; i + 2 < call.arguments.size(); i += 3) {
      const Address part = to + static_cast<Address>(call.arguments[i]);
      const auto bytes = static_cast<size_t>(call.arguments[i + 1]);
      const int64_t from = call.arguments[i + 2];
      if (bytes == 0) continue;
      if (from < 0)
        driver(driver.fill_bytes, part, static_cast<unsigned char>(0), bytes, device_.compute);
      else
        driver(driver.copy_on_device, part, address_of(call.operands[static_cast<size_t>(from)]), bytes,
               device_.compute);
    }
  }

  const Schedule& schedule_;
  const OpenDevice& device_;
  std::shared_ptr<const Modules> modules_;
  std::unique_ptr<DeviceMemory> counters_;                        // 0 between launches
  std::map<std::pair<size_t, size_t>, int64_t> counter_offsets_;  // by step and kernel's buffer
  std::vector<std::vector<size_t>> counter_buffers_;              // of each kernel
  std::vector<Call> calls_;
  bool sync_steps_, has_run_ = false;
};

KernelBatch print_kernels(std::span<const Schedule* const> schedules) {
  KernelBatch batch;
  batch.prelude = cuda_prelude();
  for (const Schedule* schedule : schedules)
    for (const ir::Kernel& kernel : schedule->kernels) batch.kernels.push_back({kernel.name, print_cuda(kernel)});
  return batch;
}

}  // namespace

std::vector<std::unique_ptr<Executable>> make_executables(std::span<const Schedule* const> schedules,
                                                          const Environment& environment, LoadReport& report) {
  environment.device.make_current();
  const KernelBatch batch = print_kernels(schedules);
  auto modules = std::make_shared<const Modules>(environment.device, environment.compiler, batch, report);
  std::vector<std::unique_ptr<Executable>> result;
  const Clock::time_point start = Clock::now();
  for (const Schedule* schedule : schedules) {
    std::vector<Kernel> kernels;
    for (const ir::Kernel& kernel : schedule->kernels) kernels.push_back(modules->kernel(kernel.name));
    result.push_back(std::make_unique<CudaExecutable>(*schedule, environment, modules, kernels));
  }
  report.library_milliseconds += since(start);
  return result;
}

}  // namespace kb::cuda
