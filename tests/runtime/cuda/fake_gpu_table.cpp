// The fake GPU's table of driver calls.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "graph/error.h"
#include "tests/runtime/cuda/fake_gpu.h"
#include "tests/runtime/cuda/fake_handles.h"

namespace kb::test {
namespace {

using namespace cuda;

const char* error_name(Result result) {
  switch (result) {
    case kInvalidValue:
      return "CUDA_ERROR_INVALID_VALUE";
    case kOutOfMemory:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case kNoDevice:
      return "CUDA_ERROR_NO_DEVICE";
    case kInvalidContext:
      return "CUDA_ERROR_INVALID_CONTEXT";
    case kNotFound:
      return "CUDA_ERROR_NOT_FOUND";
    case kIllegalAddress:
      return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case kLaunchFailed:
      return "CUDA_ERROR_LAUNCH_FAILED";
    case kCaptureUnsupported:
      return "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    case kCaptureInvalidated:
      return "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
    case kCaptureUnjoined:
      return "CUDA_ERROR_STREAM_CAPTURE_UNJOINED";
    default:
      return "CUDA_ERROR_UNKNOWN";
  }
}

std::string stream_name(Stream stream) { return fmt::format("s{}", number(stream)); }

}  // namespace

// Each of these is what one function of the driver does; `gpu` has logged the call.
struct FakeGpu::Table {
  template <class... P>
  using Body = Result (*)(FakeGpu& gpu, P...);

  static Result name(Result result, const char** text) { return *text = error_name(result), kSuccess; }
  static Result text(Result, const char** text) { return *text = "as the fake GPU has it", kSuccess; }

  static void fill(Driver& d);
  static void fill_memory(Driver& d);
  static void fill_streams(Driver& d);
  static void fill_events(Driver& d);
  static void fill_modules(Driver& d);
  static void fill_graphs(Driver& d);
};

std::unique_ptr<Driver> FakeGpu::driver() {
  auto result = std::make_unique<Driver>();
  Table::fill(*result);
  for (const Driver::Slot& slot : result->slots) ensure(*slot.function != nullptr, slot.symbol);
  return result;
}

// Begins the body of a driver's function: logs the call, and returns early if the call is to fail.
#define KB_CALL(SYMBOL, ARGUMENTS) \
  FakeGpu& gpu = FakeGpu::here();  \
  if (const Result early = gpu.called(SYMBOL, ARGUMENTS)) return early;

void FakeGpu::Table::fill(Driver& d) {
  d.get_error_name.function = name;
  d.get_error_string.function = text;
  d.init.function = [](unsigned) -> Result {
    here().is_initialised_ = true;
    if (Result early = here().called("cuInit", "", false)) return early;
    return here().options_.devices > 0 ? kSuccess : kNoDevice;
  };
  d.driver_version.function = [](int* version) -> Result { return *version = 13000, kSuccess; };
  d.device_count.function = [](int* count) -> Result { return *count = here().options_.devices, kSuccess; };
  d.device_get.function = [](Device* device, int ordinal) -> Result { return *device = ordinal, kSuccess; };
  d.device_name.function = [](char* text, int length, Device) -> Result {
    std::snprintf(text, static_cast<size_t>(length), "fake GPU");
    return kSuccess;
  };
  d.device_attribute.function = [](int* value, DeviceAttribute which, Device) -> Result {
    const int capability = here().options_.capability;
    *value = which == DeviceAttribute::multiprocessors      ? here().options_.processors
             : which == DeviceAttribute::l2_cache_bytes     ? 64 << 10
             : which == DeviceAttribute::most_block_storage ? here().options_.block_storage
             : which == DeviceAttribute::capability_major   ? capability / 10
                                                            : capability % 10;
    return kSuccess;
  };
  d.device_bus_id.function = [](char* text, int length, Device device) -> Result {
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device));
    return kSuccess;
  };
  d.context_retain.function = [](Context* context, Device device) -> Result {
    if (const Result early = here().called("cuDevicePrimaryCtxRetain", fmt::format("{}", device), false)) return early;
    ++here().retained_;
    *context = handle<Context>(here().number_);
    return kSuccess;
  };
  d.context_release.function = [](Device device) -> Result {
    if (--here().retained_ < 0) here().fault("a context released twice");
    return here().called("cuDevicePrimaryCtxRelease_v2", fmt::format("{}", device), false);
  };
  d.context_set_current.function = [](Context context) -> Result { return make_current(context); };
  fill_memory(d);
  fill_streams(d);
  fill_events(d);
  fill_modules(d);
  fill_graphs(d);
}

void FakeGpu::Table::fill_memory(Driver& d) {
  d.memory_info.function = [](size_t* free, size_t* total) -> Result {
    *total = static_cast<size_t>(here().options_.memory);
    *free = *total - static_cast<size_t>(here().taken_);
    return kSuccess;
  };
  d.memory_allocate.function = [](Address* address, size_t bytes) -> Result {
    KB_CALL("cuMemAlloc_v2", fmt::format("{}", bytes))
    return gpu.allocate(address, bytes);
  };
  d.memory_free.function = [](Address address) -> Result {
    KB_CALL("cuMemFree_v2", "")
    return gpu.free_device(address);
  };
  d.host_allocate.function = [](void** data, size_t bytes, unsigned) -> Result {
    KB_CALL("cuMemHostAlloc", fmt::format("{}", bytes))
    return gpu.allocate_host(data, bytes);
  };
  d.host_free.function = [](void* data) -> Result {
    KB_CALL("cuMemFreeHost", "")
    return gpu.free_host(data);
  };
  d.copy_to_device.function = [](Address to, const void* from, size_t bytes, Stream s) -> Result {
    KB_CALL("cuMemcpyHtoDAsync_v2", fmt::format("{} {}", bytes, stream_name(s)))
    return gpu.copy(to, reinterpret_cast<Address>(from), bytes, true, false, s);
  };
  d.copy_to_host.function = [](void* to, Address from, size_t bytes, Stream s) -> Result {
    KB_CALL("cuMemcpyDtoHAsync_v2", fmt::format("{} {}", bytes, stream_name(s)))
    return gpu.copy(reinterpret_cast<Address>(to), from, bytes, false, true, s);
  };
  d.copy_on_device.function = [](Address to, Address from, size_t bytes, Stream s) -> Result {
    KB_CALL("cuMemcpyDtoDAsync_v2", fmt::format("{} {}", bytes, stream_name(s)))
    return gpu.copy(to, from, bytes, true, true, s);
  };
  d.fill_bytes.function = [](Address to, unsigned char value, size_t bytes, Stream s) -> Result {
    KB_CALL("cuMemsetD8Async", fmt::format("{} {}", bytes, stream_name(s)))
    return gpu.fill(to, value, bytes, s);
  };
}

void FakeGpu::Table::fill_streams(Driver& d) {
  d.stream_create.function = [](Stream* s, unsigned flags) -> Result {
    KB_CALL("cuStreamCreate", "")
    if (flags != kStreamNonBlocking) gpu.fault("a stream that waits for the null stream");
    ensure(gpu.streams_.size() <= kStreams, "the fake GPU models few streams");
    gpu.streams_.emplace_back();
    *s = handle<Stream>(gpu.streams_.size() - 1);
    return kSuccess;
  };
  d.stream_destroy.function = [](Stream s) -> Result {
    KB_CALL("cuStreamDestroy_v2", stream_name(s))
    gpu.stream(s);
    gpu.drain(number(s), nullptr);
    gpu.stream(s).live = false;
    return kSuccess;
  };
  d.stream_synchronize.function = [](Stream s) -> Result {
    KB_CALL("cuStreamSynchronize", stream_name(s))
    if (Result result = gpu.not_while_capturing()) return result;
    StreamState& state = gpu.stream(s);
    gpu.drain(number(s), nullptr);
    for (size_t i = 0; i < state.clock.size(); ++i) gpu.host_[i] = std::max(gpu.host_[i], state.clock[i]);
    return gpu.wait_result();
  };
  d.stream_query.function = [](Stream s) -> Result {
    KB_CALL("cuStreamQuery", stream_name(s))
    if (Result result = gpu.not_while_capturing()) return result;
    return gpu.ask(number(s), nullptr, gpu.stream(s).clock);
  };
  d.stream_wait.function = [](Stream s, Event e, unsigned) -> Result {
    KB_CALL("cuStreamWaitEvent", fmt::format("{} e{}", stream_name(s), number(e)))
    if (gpu.skipped_.contains("cuStreamWaitEvent")) return kSuccess;
    const auto last = gpu.event(e).last;
    StreamState& state = gpu.stream(s);
    const size_t captured = last ? last->capture : 0;
    if (state.capture != 0 && captured != state.capture)
      gpu.fault("a captured stream waits for work outside the capture");
    if (captured != 0 && gpu.streams_[gpu.captures_[captured].origin].capture != captured)
      gpu.fault("a wait for an event of a capture that has ended");
    state.capture = captured;  // a stream that waits for captured work joins the capture
    if (last) gpu.add(number(s), {"a wait", {}, {}, {}, last, nullptr});
    return kSuccess;
  };
}

void FakeGpu::Table::fill_events(Driver& d) {
  d.event_create.function = [](Event* e, unsigned flags) -> Result {
    KB_CALL("cuEventCreate", "")
    gpu.events_.push_back({true, flags == kEventTimed, nullptr});
    *e = handle<Event>(gpu.events_.size() - 1);
    return kSuccess;
  };
  d.event_destroy.function = [](Event e) -> Result {
    KB_CALL("cuEventDestroy_v2", "")
    gpu.event(e).live = false;
    return kSuccess;
  };
  d.event_record.function = [](Event e, Stream s) -> Result {
    KB_CALL("cuEventRecord", fmt::format("e{} {}", number(e), stream_name(s)))
    auto record = std::make_shared<Record>();
    record->stream = number(s);
    record->capture = gpu.stream(s).capture;
    gpu.event(e).last = record;
    gpu.add(number(s), {"a record", {}, {}, {}, nullptr, record});
    return kSuccess;
  };
  d.event_synchronize.function = [](Event e) -> Result {
    KB_CALL("cuEventSynchronize", fmt::format("e{}", number(e)))
    if (gpu.skipped_.contains("cuEventSynchronize")) return kSuccess;
    if (Result result = gpu.not_while_capturing()) return result;
    const auto record = gpu.event(e).last;
    if (!record) gpu.fault("a wait for an event that was never recorded");
    if (record->capture != 0) gpu.fault("a wait of the host for a captured event");
    gpu.drain(record->stream, record.get());
    for (size_t i = 0; i < record->clock.size(); ++i) gpu.host_[i] = std::max(gpu.host_[i], record->clock[i]);
    return gpu.wait_result();
  };
  d.event_query.function = [](Event e) -> Result {
    KB_CALL("cuEventQuery", fmt::format("e{}", number(e)))
    if (Result result = gpu.not_while_capturing()) return result;
    const auto record = gpu.event(e).last;
    if (!record) return kSuccess;
    if (record->capture != 0) gpu.fault("a question about a captured event");
    return gpu.ask(record->stream, record.get(), record->clock);
  };
  d.event_elapsed.function = [](float* milliseconds, Event start, Event end) -> Result {
    KB_CALL("cuEventElapsedTime", "")
    const EventState &a = gpu.event(start), &b = gpu.event(end);
    if (!a.timed || !b.timed) gpu.fault("the time of an event without a clock");
    if (!a.last || !b.last || !a.last->done || !b.last->done) return kNotReady;
    const double steps = std::round((b.last->time - a.last->time) / gpu.options_.resolution_ms);
    *milliseconds = static_cast<float>(steps * gpu.options_.resolution_ms);
    return kSuccess;
  };
}

void FakeGpu::Table::fill_modules(Driver& d) {
  d.module_load.function = [](Module* module, const void* image) -> Result {
    KB_CALL("cuModuleLoadData", "")
    if (Result result = gpu.not_while_capturing()) return result;
    size_t at = 0;
    if (std::sscanf(static_cast<const char*>(image), "image %zu", &at) != 1 || at >= gpu.images_.size())
      return kInvalidImage;
    gpu.modules_.push_back({true, at});
    *module = handle<Module>(gpu.modules_.size() - 1);
    return kSuccess;
  };
  d.module_unload.function = [](Module module) -> Result {
    KB_CALL("cuModuleUnload", "")
    ModuleState& state = gpu.modules_.at(number(module));
    if (!state.live) gpu.fault("a module unloaded twice");
    gpu.drain_all();
    state.live = false;
    return kSuccess;
  };
  d.module_function.function = [](Kernel* kernel, Module module, const char* name) -> Result {
    KB_CALL("cuModuleGetFunction", "")
    for (FakeKernel& one : gpu.images_[gpu.modules_.at(number(module)).image]) {
      if (one.name != name) continue;
      gpu.kernels_.emplace_back(number(module), &one);
      *kernel = handle<Kernel>(gpu.kernels_.size() - 1);
      return kSuccess;
    }
    return kNotFound;
  };
  d.function_attribute.function = [](Kernel kernel, KernelAttribute attribute, int value) -> Result {
    KB_CALL("cuFuncSetAttribute", "")
    if (attribute == KernelAttribute::shared_percent) return value < -1 || value > 100 ? kInvalidValue : kSuccess;
    const bool fits = value >= 0 && value <= gpu.options_.block_storage;
    if (attribute != KernelAttribute::most_dynamic_shared_bytes || !fits) return kInvalidValue;
    gpu.kernels_.at(number(kernel)).second->most_shared = static_cast<unsigned>(value);
    return kSuccess;
  };
  d.launch.function = [](Kernel kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
                         unsigned shared, Stream s, void** parameters, void** extra) -> Result {
    if (number(kernel) == 0 || number(kernel) >= here().kernels_.size()) here().fault("no kernel of a module");
    const auto& [module, known] = here().kernels_[number(kernel)];
    KB_CALL("cuLaunchKernel", fmt::format("{} {}x{} {}", known->name, x, threads, stream_name(s)))
    if (!gpu.modules_[module].live) gpu.fault("a kernel of a module that was unloaded");
    if (y != 1 || z != 1 || ty != 1 || tz != 1 || extra) return kInvalidValue;
    return gpu.launch(*known, x, threads, shared, s, parameters);
  };
}

void FakeGpu::Table::fill_graphs(Driver& d) {
  d.capture_begin.function = [](Stream s, CaptureMode mode) -> Result {
    KB_CALL("cuStreamBeginCapture_v2", stream_name(s))
    if (mode != CaptureMode::thread_local_) gpu.fault("a capture that calls of other threads end");
    StreamState& state = gpu.stream(s);
    if (state.capture != 0) gpu.fault("a capture in a capture");
    state.capture = gpu.captures_.size();
    gpu.captures_.push_back({number(s), false, {}});
    return kSuccess;
  };
  d.capture_end.function = [](Stream s, Captured* captured) -> Result {
    FakeGpu& gpu = FakeGpu::here();
    const Result early = gpu.called("cuStreamEndCapture", stream_name(s));
    gpu.stream(s);
    const Result result = gpu.end_capture(number(s), captured);  // a capture ends even if the call fails
    if (early) *captured = nullptr;
    return early ? early : result;
  };
  d.graph_instantiate.function = [](CapturedExec* exec, Captured captured, unsigned long long) -> Result {
    KB_CALL("cuGraphInstantiateWithFlags", "")
    const GraphState& graph = gpu.graphs_.at(number(captured));
    if (!graph.live) gpu.fault("a graph that was destroyed");
    gpu.execs_.push_back({true, graph.captured});
    *exec = handle<CapturedExec>(gpu.execs_.size() - 1);
    return kSuccess;
  };
  d.graph_upload.function = [](CapturedExec, Stream s) -> Result {
    KB_CALL("cuGraphUpload", stream_name(s))
    gpu.stream(s);
    return kSuccess;
  };
  d.graph_launch.function = [](CapturedExec exec, Stream s) -> Result {
    KB_CALL("cuGraphLaunch", fmt::format("{} {}", number(exec), stream_name(s)))
    return gpu.launch_graph(number(exec), s);
  };
  d.graph_destroy.function = [](Captured captured) -> Result {
    KB_CALL("cuGraphDestroy", "")
    GraphState& graph = gpu.graphs_.at(number(captured));
    if (!graph.live) gpu.fault("a graph destroyed twice");
    graph = {false, {}};
    return kSuccess;
  };
  d.graph_exec_destroy.function = [](CapturedExec exec) -> Result {
    KB_CALL("cuGraphExecDestroy", "")
    GraphState& graph = gpu.execs_.at(number(exec));
    if (!graph.live) gpu.fault("an executable graph destroyed twice");
    graph = {false, {}};
    return kSuccess;
  };
}

#undef KB_CALL

}  // namespace kb::test
