#include "tests/runtime/cuda/fake_gpu.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "runtime/cpu/arena_guard.h"
#include "tests/runtime/cuda/fake_handles.h"

namespace kb::test {
namespace {

using namespace cuda;

constexpr std::chrono::seconds kPatience{60};  // limit on waiting for work that cannot go on

std::mutex gpus_mutex;
std::map<size_t, FakeGpu*> gpus;  // living GPUs, keyed by number
size_t gpus_made = 0;
thread_local FakeGpu* own = nullptr;
thread_local bool has_context = false;

size_t next_number() {
  const std::scoped_lock lock(gpus_mutex);
  return ++gpus_made;
}

bool covers(MemoryRange a, MemoryRange b) { return a.begin <= b.begin && b.end <= a.end; }

}  // namespace

// ---- the host's own ----

FakeGpu::FakeGpu(const FakeOptions& options) : options_(options), number_(next_number()) {
  ensure(!own, "two fake GPUs of one thread at once");
  {
    const std::scoped_lock lock(gpus_mutex);
    gpus[number_] = this;
  }
  own = this;
  void* map = mmap(nullptr, kFakeRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
  munmap(range_, kFakeRange);
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

Result FakeGpu::make_current(Context context) {
  has_context = false;
  if (!context) return kSuccess;
  const std::scoped_lock lock(gpus_mutex);
  const auto at = gpus.find(number(context));
  if (at == gpus.end()) return kInvalidContext;
  own = at->second;
  has_context = own->retained_ > 0;
  return kSuccess;
}

void FakeGpu::end_library() { log.push_back(has_context ? "a library ends" : "a library ends without a context"); }

std::string FakeGpu::add_image(std::vector<FakeKernel> kernels) {
  images_.push_back(std::move(kernels));
  return fmt::format("image {}", images_.size() - 1);
}

void FakeGpu::fail(const std::string& symbol, int number, Result result) { failures_[symbol] = {number, result}; }

int64_t FakeGpu::live_allocations() const {
  return std::count_if(allocations_.begin(), allocations_.end(), [](const auto& at) { return at.second.live; });
}

int64_t FakeGpu::live_handles() const {
  const auto live = [](const auto& all) {
    return std::count_if(all.begin(), all.end(), [](const auto& one) { return one.live; });
  };
  return live(streams_) + live(events_) + live(modules_) + live(graphs_) + live(execs_) + retained_;
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

// Records a call in the log and returns the error, or kSuccess, that it gives before it does anything.
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
  if (at == 0 || at >= streams_.size() || !streams_[at].live) fault(fmt::format("a stream that is not there: s{}", at));
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

// Returns an error if a capture is under way, and spoils it: the call that asks may not stand in a capture.
Result FakeGpu::not_while_capturing() {
  if (!any_capture()) return kSuccess;
  for (const StreamState& s : streams_) captures_[s.capture].spoilt = true;
  return kCaptureUnsupported;
}

// Returns whether the first stream, at the end of the capture, comes after all that was captured on others.
bool FakeGpu::is_joined(const Capture& capture) const {
  std::map<size_t, std::map<size_t, int64_t>> clocks;  // clock of each stream, keyed by stream
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

// Returns kNotReady if work of stream `at`, up to `until`, is not done. Asking lets the work go on.
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

double FakeGpu::milliseconds_of(const std::string& what) const {
  for (const auto& [beginning, milliseconds] : slow_)
    if (what.starts_with(beginning)) return milliseconds;
  return options_.operation_ms;
}

void FakeGpu::execute(Operation& operation) {
  now_ += milliseconds_of(operation.what);
  ++operations_;
  for (const auto* ranges : {&operation.reads, &operation.writes})
    for (MemoryRange range : *ranges) find(range, operation.what);
  if (operation.work && !broken_) {
    open_memory(operation, true);
    try {
      operation.work();
    } catch (...) {
      open_memory(operation, false);
      throw;
    }
    open_memory(operation, false);
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

Result FakeGpu::launch(const FakeKernel& kernel, unsigned blocks, unsigned threads, unsigned shared, Stream handle,
                       void** parameters) {
  stream(handle);
  const std::string what = "kernel " + kernel.name;
  if (blocks == 0 || threads == 0 || threads > 1024 || shared > kernel.most_shared) return kInvalidValue;
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
                       [this, &kernel, blocks, threads, shared, values]() mutable {
                         broken_ = kernel.name == poisoned_;
                         if (broken_) return;
                         std::vector<void*> places;
                         for (uint64_t& value : values) places.push_back(&value);
                         kernel.run(kernel, blocks, threads, shared, places);
                       },
                       nullptr, nullptr});
  return kSuccess;
}

Result FakeGpu::launch_graph(size_t exec, Stream handle) {
  if (exec == 0 || exec >= execs_.size() || !execs_[exec].live) fault("a graph that is not there");
  const Capture& captured = execs_[exec].captured;
  std::map<const Record*, std::shared_ptr<Record>> records;  // records of this launch, keyed by those of the capture
  for (const auto& [at, operation] : captured.operations) {
    size_t lane = number(handle);
    if (at != captured.origin) {
      const auto [place, is_new] = side_lanes_.try_emplace(at, streams_.size());
      if (is_new) {
        ensure(streams_.size() <= kStreams, "the fake GPU models few streams");
        streams_.emplace_back().live = false;  // it has no handle
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

}  // namespace kb::test
