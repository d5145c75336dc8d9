#include "tests/runtime/cuda/fake_gpu.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "runtime/cpu/arena_guard.h"

namespace kb::test {
namespace {

using namespace cuda;

constexpr int64_t kRange = int64_t{1} << 33, kPage = 4096;
constexpr double kOperation = 0.001;  // milliseconds that every one takes

constexpr std::chrono::seconds kPatience{60};  // with work that cannot go on

std::mutex gpus_mutex;
std::map<size_t, FakeGpu*> gpus;  // that live, by number
size_t gpus_made = 0;
thread_local FakeGpu* own = nullptr;
thread_local bool has_context = false;

size_t next_number() {
  const std::scoped_lock lock(gpus_mutex);
  return ++gpus_made;
}

template <class Handle>
size_t number(Handle handle) {
  return static_cast<size_t>(reinterpret_cast<uintptr_t>(handle) >> 4);
}
// No address of anything: whoever looks behind one crashes.
template <class Handle>
Handle handle(size_t number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number) << 4);
}

bool overlap(MemoryRange a, MemoryRange b) { return a.begin < b.end && b.begin < a.end; }
bool covers(MemoryRange a, MemoryRange b) { return a.begin <= b.begin && b.end <= a.end; }

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

// ---- the host's own ----

FakeGpu::FakeGpu(const FakeOptions& options) : options_(options), number_(next_number()) {
  ensure(!own, "two fake GPUs of one thread at once");
  {
    const std::scoped_lock lock(gpus_mutex);
    gpus[number_] = this;
  }
  own = this;
  void* map = mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ensure(map != MAP_FAILED, "no addresses for a fake GPU");
  range_ = static_cast<char*>(map);
  streams_.emplace_back().live = false;
  events_.emplace_back().live = false;
  images_.emplace_back();
  modules_.emplace_back().live = false;
  graphs_.emplace_back().live = false;
  execs_.emplace_back().live = false;
  captures_.emplace_back();
  kernels_.emplace_back();
}

FakeGpu::~FakeGpu() {
  for (auto& [address, allocation] : allocations_)
    if (allocation.live && !allocation.on_device) std::free(reinterpret_cast<void*>(address));
  unpoison(range_, used_);
  munmap(range_, kRange);
  has_context = false;
  own = nullptr;
  const std::scoped_lock lock(gpus_mutex);
  gpus.erase(number_);
}

FakeGpu& FakeGpu::here() {
  if (own) return *own;
  const std::scoped_lock lock(gpus_mutex);
  ensure(gpus.size() == 1, "a thread without a fake GPU, among several");
  return *gpus.begin()->second;
}

std::string FakeGpu::add_image(std::vector<FakeKernel> kernels) {
  images_.push_back(std::move(kernels));
  return fmt::format("image {}", images_.size() - 1);
}

void FakeGpu::fail(const std::string& symbol, int number, Result result) { failures_[symbol] = {number, result}; }

int64_t FakeGpu::live_allocations() const {
  return std::count_if(allocations_.begin(), allocations_.end(), [](const auto& at) { return at.second.live; });
}

// After a fault nothing works, so that destructors meet no second one.
void FakeGpu::fault(const std::string& what) {
  has_faulted_ = true;
  for (StreamState& s : streams_) s.queue.clear();
  for (auto* graphs : {&graphs_, &execs_})
    for (GraphState& graph : *graphs) graph.captured.operations.clear();
  for (Capture& capture : captures_) capture.operations.clear();
  throw DriverFault(what);
}

// What a call gives before it does anything.
Result FakeGpu::called(const char* symbol, const std::string& arguments, bool needs_context) {
  if (has_faulted_) return kLaunchFailed;
  log.push_back(arguments.empty() ? symbol : symbol + (" " + arguments));
  if (lost_ != kSuccess) return lost_;
  if (symbol == uncapturable_ && any_capture()) return not_while_capturing();
  if (auto at = failures_.find(symbol); at != failures_.end() && at->second.first-- == 0) {
    lost_ = losing_;
    return at->second.second;
  }
  if (!is_initialised_) return kNotInitialized;
  return needs_context && !has_context ? kInvalidContext : kSuccess;
}

FakeGpu::StreamState& FakeGpu::stream(Stream handle) {
  const size_t at = number(handle);
  if (at == 0 || at >= streams_.size() || !streams_[at].live)
    fault("a stream that is not there: " + stream_name(handle));
  return streams_[at];
}

FakeGpu::EventState& FakeGpu::event(Event handle) {
  const size_t at = number(handle);
  if (at == 0 || at >= events_.size() || !events_[at].live) fault(fmt::format("an event that is not there: e{}", at));
  return events_[at];
}

bool FakeGpu::any_capture() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const StreamState& s) { return s.capture != 0; });
}

// A call that may not stand in a capture spoils it.
Result FakeGpu::not_while_capturing() {
  if (!any_capture()) return kSuccess;
  for (const StreamState& s : streams_) captures_[s.capture].spoilt = true;
  return kCaptureUnsupported;
}

// Whether the first stream knows in the end of all that was captured on others.
bool FakeGpu::is_joined(const Capture& capture) const {
  std::map<size_t, std::map<size_t, int64_t>> clocks;  // of each stream, by stream
  std::map<const Record*, std::map<size_t, int64_t>> recorded;
  for (const auto& [at, operation] : capture.operations) {
    std::map<size_t, int64_t>& clock = clocks[at];
    if (operation.wait)
      for (const auto& [other, time] : recorded.at(operation.wait.get())) clock[other] = std::max(clock[other], time);
    ++clock[at];
    if (operation.record) recorded[operation.record.get()] = clock;
  }
  for (const auto& [at, clock] : clocks)
    if (clocks[capture.origin][at] < clock.at(at)) return false;
  return true;
}

Result FakeGpu::end_capture(size_t at, Captured* captured) {
  const size_t number = streams_[at].capture;
  *captured = nullptr;
  if (number == 0 || captures_[number].origin != at) return kCaptureUnmatched;
  for (StreamState& s : streams_)
    if (s.capture == number) s.capture = 0;
  const Capture capture = std::move(captures_[number]);
  captures_[number] = {};
  if (capture.spoilt) return kCaptureInvalidated;
  if (!is_joined(capture)) return kCaptureUnjoined;
  graphs_.push_back({true, capture});
  *captured = handle<Captured>(graphs_.size() - 1);
  return kSuccess;
}

// ---- memory ----

Result FakeGpu::allocate(Address* address, size_t bytes) {
  if (Result result = not_while_capturing()) return result;
  if (bytes == 0) return kInvalidValue;
  const auto size = static_cast<int64_t>(bytes);
  if (taken_ + size > options_.memory) return kOutOfMemory;
  const int64_t mapped = (size + kPage - 1) / kPage * kPage;
  ensure(used_ + mapped + kPage <= kRange, "the fake GPU has no addresses left");
  char* data = range_ + used_;
  used_ +=
      mapped + kPage;  // a page that nobody may touch lies behind every allocation, and addresses are not used again
  taken_ += size;
  mprotect(data, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE);
  std::memset(data, 0xa5, bytes);
  kb::poison(data + size, mapped - size);
  mprotect(data, static_cast<size_t>(mapped), PROT_NONE);
  *address = reinterpret_cast<Address>(data);
  allocations_[*address] = {size, true, true, {}};
  return kSuccess;
}

Result FakeGpu::free_device(Address address) {
  if (Result result = not_while_capturing()) return result;
  const auto at = allocations_.find(address);
  if (at == allocations_.end() || !at->second.on_device) fault("cuMemFree: no address of an allocation");
  if (!at->second.live) fault("cuMemFree: freed twice");
  drain_all();
  at->second.live = false;
  at->second.accesses.clear();
  taken_ -= at->second.bytes;
  kb::unpoison(reinterpret_cast<void*>(address), (at->second.bytes + kPage - 1) / kPage * kPage);
  madvise(reinterpret_cast<void*>(address), static_cast<size_t>(at->second.bytes), MADV_DONTNEED);
  return kSuccess;
}

Result FakeGpu::allocate_host(void** data, size_t bytes) {
  if (Result result = not_while_capturing()) return result;
  if (bytes == 0) return kInvalidValue;
  *data = std::malloc(bytes);
  std::memset(*data, 0xa5, bytes);
  allocations_[reinterpret_cast<uint64_t>(*data)] = {static_cast<int64_t>(bytes), false, true, {}};
  return kSuccess;
}

Result FakeGpu::free_host(void* data) {
  if (Result result = not_while_capturing()) return result;
  const auto at = allocations_.find(reinterpret_cast<uint64_t>(data));
  if (at == allocations_.end() || at->second.on_device) fault("cuMemFreeHost: no address of an allocation");
  const MemoryRange all = MemoryRange::of(data, at->second.bytes);
  for (const StreamState& s : streams_)
    for (const Operation& operation : s.queue)
      for (const auto* ranges : {&operation.reads, &operation.writes})
        for (MemoryRange range : *ranges)
          if (overlap(range, all)) fault("cuMemFreeHost: memory that is still in use by " + operation.what);
  std::free(data);
  allocations_.erase(at);
  return kSuccess;
}

FakeGpu::Allocation& FakeGpu::find(MemoryRange range, const std::string& what) {
  auto at = allocations_.upper_bound(range.begin);
  if (at == allocations_.begin()) fault(what + ": neither device nor page-locked memory");
  --at;
  if (range.begin >= at->first + static_cast<uint64_t>(at->second.bytes))
    fault(what + ": neither device nor page-locked memory");
  if (!at->second.live) fault(what + ": memory that has been freed");
  if (range.end > at->first + static_cast<uint64_t>(at->second.bytes))
    fault(fmt::format("{}: {} bytes past the end of an allocation of {}", what,
                      range.end - at->first - static_cast<uint64_t>(at->second.bytes), at->second.bytes));
  return at->second;
}

void FakeGpu::check_place(MemoryRange range, bool on_device, const std::string& what) {
  if (find(range, what).on_device != on_device)
    fault(what +
          (on_device ? ": memory of the host given as the device's" : ": memory of the device given as the host's"));
}

MemoryRange FakeGpu::all_of(const void* data) {
  const MemoryRange first = MemoryRange::of(data, 1);
  const int64_t bytes = find(first, "an operand").bytes;
  const uint64_t begin = std::prev(allocations_.upper_bound(first.begin))->first;
  return {begin, begin + static_cast<uint64_t>(bytes)};
}

void FakeGpu::know(const std::string& kernel, const void* data, int64_t bytes) {
  int64_t& most = known_[{kernel, MemoryRange::of(data, 0).begin}];
  most = std::max(most, bytes);
}

MemoryRange FakeGpu::touched(const std::string& kernel, uint64_t address) {
  for (const std::string& name : {kernel, std::string()})
    if (const auto at = known_.find({name, address}); at != known_.end())
      return {address, address + static_cast<uint64_t>(at->second)};
  return rest_of(reinterpret_cast<const void*>(address));
}

MemoryRange FakeGpu::rest_of(const void* data) { return {MemoryRange::of(data, 0).begin, all_of(data).end}; }

// Of the device's live memory: readable and writable while work runs, and never else.
void FakeGpu::open_memory(bool open) {
  if (opened_ += open ? 1 : -1; opened_ != (open ? 1 : 0)) return;
  for (const auto& [address, allocation] : allocations_)
    if (allocation.on_device && allocation.live)
      mprotect(reinterpret_cast<void*>(address), static_cast<size_t>(allocation.bytes),
               open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

// ---- order ----

void FakeGpu::enqueue(Stream handle, std::string what, std::vector<MemoryRange> reads, std::vector<MemoryRange> writes,
                      std::function<void()> work) {
  for (const auto* ranges : {&reads, &writes})
    for (MemoryRange range : *ranges) check_place(range, true, what);
  stream(handle);
  add(number(handle), {std::move(what), std::move(reads), std::move(writes), std::move(work), nullptr, nullptr});
}

void FakeGpu::add(size_t at, Operation operation) {
  StreamState& s = streams_[at];
  if (s.capture != 0) {
    captures_[s.capture].operations.emplace_back(at, std::move(operation));
    return;
  }
  order(at, operation);
  s.queue.push_back(std::move(operation));
  if (options_.lazy) return;
  try {
    advance(at, nullptr);
  } catch (const NotYet&) {
  }
}

// Gives an operation its place in time and compares it with all that touched its memory before.
void FakeGpu::order(size_t at, const Operation& operation) {
  StreamState& s = streams_[at];
  const auto join = [&](const Clock& other) {
    for (size_t i = 0; i < other.size(); ++i) s.clock[i] = std::max(s.clock[i], other[i]);
  };
  join(host_);
  if (operation.wait) join(operation.wait->clock);
  ++s.clock[at];
  if (operation.record) operation.record->clock = s.clock;
  for (MemoryRange range : operation.reads) note(at, range, false, operation.what);
  for (MemoryRange range : operation.writes) note(at, range, true, operation.what);
}

void FakeGpu::note(size_t at, MemoryRange range, bool write, const std::string& what) {
  std::vector<Access>& accesses = find(range, what).accesses;
  const Clock& clock = streams_[at].clock;
  for (const Access& before : accesses)
    if (overlap(before.range, range) && (before.write || write) && clock[before.stream] < before.time)
      fault(fmt::format("{} on s{} and {} on s{} touch the same memory in no order", before.what, before.stream, what,
                        at));
  std::erase_if(accesses, [&](const Access& before) {
    return covers(range, before.range) && (write || (!before.write && before.stream == at));
  });
  accesses.push_back({range, write, at, clock[at], what});
}

void FakeGpu::advance(size_t at, const Record* until) {
  StreamState& s = streams_[at];
  while (!s.queue.empty() && !(until && until->done)) {
    if (const std::shared_ptr<Record> wait = s.queue.front().wait; wait && !wait->done)
      advance(wait->stream, wait.get());
    Operation operation = std::move(s.queue.front());
    s.queue.pop_front();
    try {
      execute(operation);
    } catch (const NotYet&) {
      s.queue.push_front(std::move(operation));
      throw;
    }
  }
}

// Whether it is done; a host that asks lets work go on.
Result FakeGpu::ask(size_t at, const Record* until, const Clock& clock) {
  try {
    advance(at, until);
  } catch (const NotYet&) {
    return kNotReady;
  }
  for (size_t i = 0; i < clock.size(); ++i) host_[i] = std::max(host_[i], clock[i]);
  return wait_result();
}

void FakeGpu::drain(size_t at, const Record* until) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    try {
      return advance(at, until);
    } catch (const NotYet&) {
      if (std::chrono::steady_clock::now() > end) fault("work that never goes on: " + streams_[at].queue.front().what);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

void FakeGpu::execute(Operation& operation) {
  now_ += kOperation;
  ++operations_;
  for (const auto* ranges : {&operation.reads, &operation.writes})
    for (MemoryRange range : *ranges) find(range, operation.what);
  if (operation.work && !broken_) {
    open_memory(true);
    try {
      operation.work();
    } catch (...) {
      open_memory(false);
      throw;
    }
    open_memory(false);
  }
  if (!operation.record) return;
  operation.record->done = true;
  operation.record->time = now_;
}

void FakeGpu::drain_all() {
  for (size_t at = 1; at < streams_.size(); ++at) drain(at, nullptr);
}

// ---- work ----

Result FakeGpu::copy(Address to, Address from, size_t bytes, bool to_device, bool from_device, Stream handle) {
  stream(handle);
  const char* what = !from_device ? "a copy to the device" : to_device ? "a copy on the device" : "a copy to the host";
  if (bytes == 0) fault(fmt::format("{}: of nothing", what));
  auto* target = reinterpret_cast<void*>(to);
  const auto* source = reinterpret_cast<const void*>(from);
  const MemoryRange reads = MemoryRange::of(source, static_cast<int64_t>(bytes)),
                    writes = MemoryRange::of(target, static_cast<int64_t>(bytes));
  check_place(reads, from_device, what);
  check_place(writes, to_device, what);
  add(number(handle), {what, {reads}, {writes}, [=] { std::memcpy(target, source, bytes); }, nullptr, nullptr});
  return kSuccess;
}

Result FakeGpu::fill(Address to, unsigned char value, size_t bytes, Stream handle) {
  stream(handle);
  auto* target = reinterpret_cast<void*>(to);
  const MemoryRange writes = MemoryRange::of(target, static_cast<int64_t>(bytes));
  check_place(writes, true, "a fill");
  add(number(handle), {"a fill", {}, {writes}, [=] { std::memset(target, value, bytes); }, nullptr, nullptr});
  return kSuccess;
}

Result FakeGpu::launch(const FakeKernel& kernel, unsigned blocks, unsigned threads, Stream handle, void** parameters) {
  stream(handle);
  const std::string what = "kernel " + kernel.name;
  if (blocks == 0 || threads == 0 || threads > 1024) return kInvalidValue;
  const size_t count = kernel.parameters.size();
  std::vector<uint64_t> values;
  std::vector<MemoryRange> reads, writes;
  for (size_t i = 0; i < count; ++i) {
    if (!parameters[i]) fault(fmt::format("{}: {} arguments, got {}", what, count, i));
    uint64_t value = 0;
    std::memcpy(&value, parameters[i], sizeof value);
    values.push_back(value);
    if (kernel.parameters[i] == FakeKernel::number) continue;
    if (value == 0) fault(fmt::format("{}: operand {} is null", what, i));
    auto& ranges = kernel.parameters[i] == FakeKernel::written ? writes : reads;
    ranges.push_back(touched(kernel.name, value));
    check_place(ranges.back(), true, what);
  }
  if (parameters[count]) fault(fmt::format("{}: {} arguments, got more", what, count));
  add(number(handle), {what, reads, writes,
                       [this, &kernel, blocks, threads, values]() mutable {
                         broken_ = kernel.name == poisoned_;
                         if (broken_) return;
                         std::vector<void*> places;
                         for (uint64_t& value : values) places.push_back(&value);
                         kernel.run(kernel, blocks, threads, places);
                       },
                       nullptr, nullptr});
  return kSuccess;
}

Result FakeGpu::launch_graph(size_t exec, Stream handle) {
  if (exec == 0 || exec >= execs_.size() || !execs_[exec].live) fault("a graph that is not there");
  const Capture& captured = execs_[exec].captured;
  std::map<const Record*, std::shared_ptr<Record>> records;  // of this launch, by those of the capture
  for (const auto& [at, operation] : captured.operations) {
    size_t lane = number(handle);
    if (at != captured.origin) {
      const auto [place, is_new] = side_lanes_.try_emplace(at, streams_.size());
      if (is_new) {
        ensure(streams_.size() <= kStreams, "the fake GPU models few streams");
        streams_.emplace_back();
      }
      lane = place->second;
    }
    Operation own = operation;
    if (own.wait) own.wait = records.at(own.wait.get());
    if (own.record) {
      own.record = records[own.record.get()] = std::make_shared<Record>();
      own.record->stream = lane;
    }
    add(lane, std::move(own));
  }
  return kSuccess;
}

// ---- the table ----

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

// The rest of a body where the call is to go on.
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
    *value = which == DeviceAttribute::multiprocessors    ? 132
             : which == DeviceAttribute::l2_cache_bytes   ? 64 << 10
             : which == DeviceAttribute::capability_major ? capability / 10
                                                          : capability % 10;
    return kSuccess;
  };
  d.device_bus_id.function = [](char* text, int length, Device device) -> Result {
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device));
    return kSuccess;
  };
  d.context_retain.function = [](Context* context, Device) -> Result {
    ++here().retained_;
    *context = handle<Context>(here().number_);
    return here().called("cuDevicePrimaryCtxRetain", "", false);
  };
  d.context_release.function = [](Device) -> Result {
    if (--here().retained_ < 0) here().fault("a context released twice");
    return here().called("cuDevicePrimaryCtxRelease_v2", "", false);
  };
  d.context_set_current.function = [](Context context) -> Result {
    has_context = false;
    if (!context) return kSuccess;
    const std::scoped_lock lock(gpus_mutex);
    const auto at = gpus.find(number(context));
    if (at == gpus.end()) return kInvalidContext;
    own = at->second;
    has_context = own->retained_ > 0;
    return kSuccess;
  };
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
  d.stream_create.function = [](Stream* s, unsigned) -> Result {
    KB_CALL("cuStreamCreate", "")
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
    state.capture = captured;  // joins it
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
    *milliseconds = static_cast<float>(b.last->time - a.last->time);
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
    for (const FakeKernel& one : gpu.images_[gpu.modules_.at(number(module)).image]) {
      if (one.name != name) continue;
      gpu.kernels_.emplace_back(number(module), &one);
      *kernel = handle<Kernel>(gpu.kernels_.size() - 1);
      return kSuccess;
    }
    return kNotFound;
  };
  d.launch.function = [](Kernel kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
                         unsigned shared, Stream s, void** parameters, void** extra) -> Result {
    if (number(kernel) == 0 || number(kernel) >= here().kernels_.size()) here().fault("no kernel of a module");
    const auto& [module, known] = here().kernels_[number(kernel)];
    KB_CALL("cuLaunchKernel", fmt::format("{} {}x{} {}", known->name, x, threads, stream_name(s)))
    if (!gpu.modules_[module].live) gpu.fault("a kernel of a module that was unloaded");
    if (y != 1 || z != 1 || ty != 1 || tz != 1 || shared != 0 || extra) return kInvalidValue;
    return gpu.launch(*known, x, threads, s, parameters);
  };
}

void FakeGpu::Table::fill_graphs(Driver& d) {
  d.capture_begin.function = [](Stream s, CaptureMode) -> Result {
    KB_CALL("cuStreamBeginCapture_v2", stream_name(s))
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
    const Result result = gpu.end_capture(number(s), captured);  // one that fails has ended, too
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
