#include "runtime/cuda/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/print/cuda.h"
#include "compiler/stopwatch.h"
#include "runtime/comm/heartbeat.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/modules.h"

namespace kb::cuda {
namespace {

// One schedule step, ready to be enqueued.
struct Call {
  Launch launch;
  std::unique_ptr<LibraryOp> library;
  std::vector<void*> operands;
  std::vector<Copies::Part> parts;  // the parts of a copy
  size_t inputs = 0;
  void* scratch = nullptr;
};

// An all-reduce of the schedule, and the events that order it among the computation.
struct UnderWay {
  explicit UnderWay(const Driver& driver) : ready(driver), done(driver) {}
  std::unique_ptr<Reduction> reduction;
  EventHandle ready, done;
};

// The planned all-reduces of a schedule, by their numbers, and the scratch memory that those of a batch share.
struct Reductions {
  std::vector<std::unique_ptr<Reduction>> planned;
  std::shared_ptr<DeviceMemory> scratch;
};

// Returns the numbers of the buffers in which a kernel counts finished blocks.
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
  // `kernels` are the schedule's, in their order; `modules` owns them.
  CudaExecutable(const Schedule& schedule, const Environment& environment, std::shared_ptr<const Modules> modules,
                 std::span<const Kernel> kernels, Reductions reductions)
      : schedule_(schedule),
        device_(environment.device),
        stream_(environment.device.compute),
        collective_(environment.collective),
        heartbeat_(environment.heartbeat),
        modules_(std::move(modules)),
        reduction_scratch_(std::move(reductions.scratch)),
        sync_steps_(environment.sync_steps) {
    for (std::unique_ptr<Reduction>& reduction : reductions.planned)
      under_way_.emplace_back(device_.driver).reduction = std::move(reduction);
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
      if (const LibraryCall* call = step.call()) calls_[s].scratch = address(call->scratch);
      for (size_t buffer : counters_of_step(step))
        calls_[s].operands[buffer] = counters_->data() + counter_offsets_.at({s, buffer});
    }
  }

  void use_second_lane() override { stream_ = device_.beside; }

  void run() override {
    for (size_t s = 0; s < calls_.size(); ++s)
      at_step(s, [&] {
        enqueue(s);
        if (waits()) wait_for(s);
      });
    has_run_ = true;
  }

  std::vector<StepTime> profile() override {
    std::vector<EventHandle> events, starts, ends;
    for (size_t s = 0; s <= calls_.size(); ++s) events.emplace_back(device_.driver, kEventTimed);
    for (size_t r = 0; r < under_way_.size(); ++r) {
      starts.emplace_back(device_.driver, kEventTimed);
      ends.emplace_back(device_.driver, kEventTimed);
    }
    events[0].record(stream_);
    for (size_t s = 0; s < calls_.size(); ++s)
      at_step(s, [&] {
        if (is_exchange(s)) {
          enqueue_exchange(s, &starts[number_of(s)], &ends[number_of(s)]);
        } else {
          enqueue(s);
        }
        events[s + 1].record(stream_);
      });
    device_.wait(events.back().get());
    std::vector<StepTime> times(calls_.size());
    for (size_t s = 0; s < calls_.size(); ++s) {
      times[s] = {events[s].milliseconds_since(events[0]), events[s + 1].milliseconds_since(events[s])};
      if (schedule_.steps[s].cls != FusionClass::wait) continue;
      times[s].reduction_start = starts[number_of(s)].milliseconds_since(events[0]);
      times[s].reduction_end = ends[number_of(s)].milliseconds_since(events[0]);
    }
    return times;
  }

 private:
  std::span<const size_t> counters_of_step(const Step& step) const {
    const KernelLaunch* launch = step.launch();
    return launch ? std::span<const size_t>(counter_buffers_[static_cast<size_t>(launch->kernel)])
                  : std::span<const size_t>();
  }

  // Gives each launch counters of its own, as many as its planned buffer has.
  void place_counters() {
    int64_t bytes = 0;
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      const Step& step = schedule_.steps[s];
      for (size_t buffer : counters_of_step(step)) {
        counter_offsets_[{s, buffer}] = bytes;
        bytes += schedule_.buffers[static_cast<size_t>(step.operands[buffer].buffer)].bytes;
      }
    }
    counters_ = allocate_device(device_, bytes);
  }

  // Adds the step and the user's line to whatever `work` throws. If nobody waits between steps, a call may report an
  // error of an earlier one, and no step is named.
  template <class Work>
  void at_step(size_t s, Work work) const {
    try {
      work();
    } catch (const CallError& error) {
      if (is_device_fault(error.result()) && !waits()) throw;
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
    if (step.nodes.empty()) return text;
    const int32_t node = step.launch() ? step.nodes.back() : step.nodes.front();
    const std::string line = schedule_.graph->place(schedule_.graph->node(node));
    return line.empty() ? text : text + "\n  at " + line;
  }

  void prepare(size_t s, const Environment& environment, std::span<const Kernel> kernels) {
    const Step& step = schedule_.steps[s];
    Call& call = calls_[s];
    call.operands.resize(step.operands.size());
    call.inputs = static_cast<size_t>(step.inputs);
    if (const LibraryCall* library = step.call()) {
      call.library = plan(step, *library, environment);
    } else if (const KernelLaunch* launch = step.launch()) {
      const auto k = static_cast<size_t>(launch->kernel);
      ensure(launch->tiles.size() == 1, "a kernel for a GPU has one phase");
      call.launch = Launch(device_.driver, schedule_.kernels[k], kernels[k], launch->tiles[0], launch->arguments);
    } else if (const Copies* copies = step.copies()) {
      call.parts = copies->parts;
    }
  }

  std::unique_ptr<LibraryOp> plan(const Step& step, const LibraryCall& call, const Environment& environment) const {
    std::unique_ptr<LibraryOp> op = environment.library.plan(*schedule_.graph, schedule_.node_of(step), call.epilogue);
    const int64_t planned =
        call.scratch.buffer < 0 ? 0 : schedule_.buffers[static_cast<size_t>(call.scratch.buffer)].bytes;
    ensure(op->scratch_bytes() <= planned, "a library call wants more scratch than was planned");
    return op;
  }

  bool is_exchange(size_t s) const { return schedule_.steps[s].cls == FusionClass::exchange; }
  size_t number_of(size_t s) const { return static_cast<size_t>(schedule_.steps[s].reduction()); }

  void enqueue(size_t s) {
    Call& call = calls_[s];
    if (call.library)
      enqueue_library(call);
    else if (call.launch.is_set())
      call.launch.enqueue(device_.driver, stream_, call.operands);
    else if (is_exchange(s))
      enqueue_exchange(s);
    else if (schedule_.steps[s].cls == FusionClass::wait)
      under_way_[number_of(s)].done.wait_on(stream_);
    else
      enqueue_copies(call);
  }

  // Enqueues an all-reduce after all that was computed, to run beside what comes next. In a capture the communication
  // stream branches off here and joins again where the exchange is waited for, which is before the program ends.
  // `start` and `end` are events that clock when it may begin and when it is done.
  void enqueue_exchange(size_t s, const EventHandle* start = nullptr, const EventHandle* end = nullptr) {
    if (heartbeat_) heartbeat_->at(schedule_.steps[s].name);
    UnderWay& one = under_way_[number_of(s)];
    one.ready.record(stream_);
    one.ready.wait_on(device_.communication);
    if (start) start->record(device_.communication);
    try {
      one.reduction->enqueue(device_.communication, static_cast<std::byte*>(calls_[s].operands[0]),
                             reduction_scratch_->data());
    } catch (...) {
      if (collective_) collective_->give_up();  // otherwise streams wait for ever for the half that was sent
      throw;
    }
    if (end) end->record(device_.communication);
    one.done.record(device_.communication);
  }

  bool waits() const { return !has_run_ || sync_steps_; }
  void wait_for(size_t s) const { device_.wait(is_exchange(s) ? device_.communication : stream_); }

  void enqueue_library(const Call& call) const {
    std::span<void* const> all(call.operands);
    call.library->enqueue(stream_, all.first(call.inputs), all.subspan(call.inputs), call.scratch);
  }

  void enqueue_copies(const Call& call) const {
    const Driver& driver = device_.driver;
    const Address to = address_of(call.operands.back());
    for (const Copies::Part& part : call.parts) {
      const Address at = to + static_cast<Address>(part.to);
      const auto bytes = static_cast<size_t>(part.bytes);
      if (bytes == 0) continue;
      if (part.from < 0)
        driver(driver.fill_bytes, at, static_cast<unsigned char>(0), bytes, stream_);
      else
        driver(driver.copy_on_device, at, address_of(call.operands[static_cast<size_t>(part.from)]), bytes, stream_);
    }
  }

  const Schedule& schedule_;
  const OpenDevice& device_;
  Stream stream_;  // the stream of the program's lane
  Collective* const collective_;
  Heartbeat* const heartbeat_;
  std::shared_ptr<const Modules> modules_;
  std::shared_ptr<DeviceMemory> reduction_scratch_;
  std::vector<UnderWay> under_way_;                               // all-reduces by their numbers
  std::unique_ptr<DeviceMemory> counters_;                        // all are 0 between launches
  std::map<std::pair<size_t, size_t>, int64_t> counter_offsets_;  // keyed by step and buffer of the kernel
  std::vector<std::vector<size_t>> counter_buffers_;              // the counter buffers of each kernel
  std::vector<Call> calls_;
  bool sync_steps_, has_run_ = false;
};

KernelBatch print_kernels(std::span<const Schedule* const> schedules, std::span<const Reductions> reductions) {
  KernelBatch batch;
  batch.prelude = cuda_prelude();
  const auto add = [&](const ir::Kernel& kernel) { batch.kernels.push_back({kernel.name, print_cuda(kernel)}); };
  for (const Schedule* schedule : schedules)
    for (const ir::Kernel& kernel : schedule->kernels) add(kernel);
  for (const Reductions& all : reductions)
    for (const std::unique_ptr<Reduction>& one : all.planned)
      for (const ir::Kernel& kernel : one->kernels()) add(kernel);
  return batch;
}

// Returns the plans in the order of the schedule's steps, which is the order of their numbers.
std::vector<std::unique_ptr<Reduction>> plan_reductions(const Schedule& schedule, const Environment& environment) {
  std::vector<std::unique_ptr<Reduction>> planned;
  for (const Step& step : schedule.steps) {
    if (step.cls != FusionClass::exchange) continue;
    ensure(environment.ranks > 0, "a program for several processes was loaded without a communicator");
    ensure(step.reduction() == static_cast<int32_t>(planned.size()), "all-reduces are numbered in their order");
    ensure(step.operands.at(0).offset % kReductionAlignment == 0, "an all-reduce works on an aligned array");
    const Type& type = schedule.node_of(step).type();
    planned.push_back(environment.collective ? environment.collective->plan(type.elements(), type.dtype,
                                                                            environment.among, environment.target)
                                             : std::make_unique<Reduction>());
  }
  return planned;
}

std::vector<Reductions> plan_reductions(std::span<const Schedule* const> schedules, const Environment& environment) {
  std::vector<Reductions> result;
  int64_t bytes = 0;
  for (const Schedule* schedule : schedules) {
    result.push_back({plan_reductions(*schedule, environment), nullptr});
    for (const auto& one : result.back().planned) bytes = std::max(bytes, one->scratch_bytes());
  }
  const std::shared_ptr<DeviceMemory> scratch = allocate_device(environment.device, bytes);
  for (Reductions& one : result) one.scratch = scratch;
  return result;
}

}  // namespace

std::vector<std::unique_ptr<Executable>> make_executables(std::span<const Schedule* const> schedules,
                                                          const Environment& environment, LoadReport& report) {
  environment.device.make_current();
  std::vector<Reductions> reductions = plan_reductions(schedules, environment);
  const KernelBatch batch = print_kernels(schedules, reductions);
  auto modules = std::make_shared<const Modules>(environment.device, environment.compiler, batch, report);
  std::vector<std::unique_ptr<Executable>> result;
  const Stopwatch watch;
  for (size_t i = 0; i < schedules.size(); ++i) {
    std::vector<Kernel> kernels;
    for (const ir::Kernel& kernel : schedules[i]->kernels) kernels.push_back(modules->kernel(kernel.name));
    for (const std::unique_ptr<Reduction>& one : reductions[i].planned) one->use(*modules);
    result.push_back(
        std::make_unique<CudaExecutable>(*schedules[i], environment, modules, kernels, std::move(reductions[i])));
  }
  report.library_milliseconds += watch.milliseconds();
  return result;
}

}  // namespace kb::cuda
