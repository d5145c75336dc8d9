// A GPU for tests: a driver table whose device memory is a range of the host's own that only the fake's own work can
// touch, and whose streams, events and captured graphs are modelled. Work runs when the host waits for it and no sooner
// (or at once), so that a host that reads or overwrites too early gets wrong numbers. Vector clocks check that events
// establish an order between streams that touch the same memory. Misuse throws DriverFault.
#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"

namespace kb::test {

class DriverFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FakeOptions {
  bool lazy = true;  // work runs when it is waited for; false: as soon as its stream and events allow
  int devices = 1;
  int capability = 90;
  int processors = 132;
  int block_storage = 227 << 10;  // bytes of shared memory that a block can ask for
  int64_t memory = int64_t{1} << 30;
  double operation_ms = 0.001;  // time of every operation, milliseconds
  double resolution_ms = 1e-9;  // resolution of the time between two events, milliseconds
};

// A kernel of an image. `run` is the work of a launch, with one address for each parameter: that of the pointer or
// number.
struct FakeKernel {
  std::string name;
  enum Parameter : uint8_t { number, read, written };
  std::vector<Parameter> parameters;
  // `shared`: bytes of shared memory that the launch asks for.
  std::function<void(const FakeKernel&, unsigned blocks, unsigned threads, unsigned shared,
                     std::span<void* const> parameters)>
      run;
  unsigned most_shared = 48 << 10;  // that a launch may ask for; cuFuncSetAttribute raises it
};

struct MemoryRange {
  uint64_t begin = 0, end = 0;
  static MemoryRange of(const void* data, int64_t bytes) {
    const auto at = reinterpret_cast<uint64_t>(data);
    return {at, at + static_cast<uint64_t>(bytes)};
  }
};

// Thrown by work that cannot go on yet: the work stays at the head of its stream, and is tried again.
struct NotYet {};

// Returns whether two ranges share a byte.
inline bool overlap(MemoryRange a, MemoryRange b) { return a.begin < b.end && b.begin < a.end; }

inline constexpr int64_t kFakeRange = int64_t{1} << 33;  // bytes of the addresses that a fake GPU has

class FakeGpu {
 public:
  // A table's functions know no object: a thread's calls go to the GPU that it made, one at a time, or whose context it
  // has made current, or to the only one that lives.
  explicit FakeGpu(const FakeOptions& options = {});
  ~FakeGpu();
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

  std::unique_ptr<cuda::Driver> driver();
  // Returns the GPU that the calling thread's calls go to.
  static FakeGpu& here();

  // Adds an image of these kernels and returns the image's bytes.
  std::string add_image(std::vector<FakeKernel> kernels);
  // Puts work on a stream as a library does, behind the driver's back.
  void enqueue(cuda::Stream stream, std::string what, std::vector<MemoryRange> reads, std::vector<MemoryRange> writes,
               std::function<void()> work);
  bool is_capturing(cuda::Stream stream) { return this->stream(stream).capture != 0; }
  [[noreturn]] void fault(const std::string& what);
  // Tells that a kernel which is given the address `data` touches this many bytes there; an empty name stands for every
  // kernel. Without this, a kernel is taken to touch all of the allocation from that address on.
  void know(const std::string& kernel, const void* data, int64_t bytes);
  // Return the range of the live allocation that holds `data`: from `data` on, which is the range that work given this
  // address may touch, or all of it.
  MemoryRange rest_of(const void* data);
  MemoryRange all_of(const void* data);

  // Logs that a library's handle ends, which needs the context as a call of the driver does.
  void end_library();

  // Calls of the driver: the name, then the arguments that tell something, for instance "cuMemcpyHtoDAsync_v2 512 s2".
  std::vector<std::string> log;
  // Makes a function fail at the call with this number (0: the next).
  void fail(const std::string& symbol, int number, cuda::Result result);
  // Loses the device: from the call with this number on, every call of any function gives the result.
  void lose(const std::string& symbol, int number, cuda::Result result) {
    losing_ = result;
    fail(symbol, number, result);
  }
  // From now on every call of this function in a capture fails, as a call that allocates does.
  void fail_in_captures(const std::string& symbol) { uncapturable_ = symbol; }
  // From now on these calls do nothing and succeed: a fault planted in the backend.
  void skip(const std::string& symbol) { skipped_.insert(symbol); }
  // From now on work whose name begins so takes this time: "kernel k_17", "library call".
  void slow(const std::string& what, double milliseconds) { slow_[what] = milliseconds; }
  // The next run of a kernel of this name fails, and with it the next wait and every later one.
  void poison(const std::string& kernel) { poisoned_ = kernel; }

  int64_t live_allocations() const;  // number of blocks, on the device and page-locked
  // Returns how many streams, events, modules, graphs and uses of the context nobody has ended.
  int64_t live_handles() const;
  int64_t operations() const { return operations_; }

 private:
  struct Table;
  static constexpr size_t kStreams = 16;  // places in a clock; the host's is 0
  using Clock = std::array<int64_t, kStreams + 1>;

  struct Access {
    MemoryRange range;
    bool write = false;
    size_t stream = 0;
    int64_t time = 0;
    std::string what;
  };
  struct Allocation {
    int64_t bytes = 0;
    bool on_device = false, live = true;
    std::vector<Access> accesses;
    int opened = 0;  // counts the ranges in it of operations that run
  };
  struct Record {
    size_t stream = 0, capture = 0;  // `capture`: number of the capture that it is part of, 0: none
    bool done = false;
    double time = 0;
    Clock clock{};
  };
  struct Operation {
    std::string what;
    std::vector<MemoryRange> reads, writes;
    std::function<void()> work;
    std::shared_ptr<Record> wait, record;
  };
  struct StreamState {
    bool live = true;
    size_t capture = 0;  // number of the capture that it is in, 0: none
    Clock clock{};
    std::deque<Operation> queue;
  };
  // Operations with the streams that they stood on, in the order in which they were enqueued.
  struct Capture {
    size_t origin = 0;
    bool spoilt = false;
    std::vector<std::pair<size_t, Operation>> operations;
  };
  struct EventState {
    bool live = true, timed = false;
    std::shared_ptr<Record> last;
  };
  struct ModuleState {
    bool live = true;
    size_t image = 0;
  };
  struct GraphState {
    bool live = true;
    Capture captured;
  };

  static cuda::Result make_current(cuda::Context context);
  cuda::Result called(const char* symbol, const std::string& arguments, bool needs_context = true);
  StreamState& stream(cuda::Stream handle);
  EventState& event(cuda::Event handle);
  bool any_capture() const;
  cuda::Result not_while_capturing();
  bool is_joined(const Capture& capture) const;
  cuda::Result end_capture(size_t at, cuda::Captured* captured);

  cuda::Result allocate(cuda::Address* address, size_t bytes);
  cuda::Result free_device(cuda::Address address);
  cuda::Result allocate_host(void** data, size_t bytes);
  cuda::Result free_host(void* data);
  Allocation& find(MemoryRange range, const std::string& what);
  MemoryRange touched(const std::string& kernel, uint64_t address);
  void check_place(MemoryRange range, bool on_device, const std::string& what);

  void add(size_t stream, Operation operation);
  void order(size_t stream, const Operation& operation);
  void note(size_t stream, MemoryRange range, bool write, const std::string& what);
  // Runs what is due; throws NotYet.
  void advance(size_t stream, const Record* until);
  cuda::Result ask(size_t stream, const Record* until, const Clock& clock);
  // Runs what is due, as advance does, and waits where that cannot go on yet; faults after kPatience.
  void drain(size_t stream, const Record* until);
  double milliseconds_of(const std::string& what) const;
  void execute(Operation& operation);
  void open_memory(const Operation& operation, bool open);
  void drain_all();
  cuda::Result wait_result() const { return broken_ ? cuda::kLaunchFailed : cuda::kSuccess; }

  cuda::Result copy(cuda::Address to, cuda::Address from, size_t bytes, bool to_device, bool from_device,
                    cuda::Stream handle);
  cuda::Result fill(cuda::Address to, unsigned char value, size_t bytes, cuda::Stream handle);
  cuda::Result launch(const FakeKernel& kernel, unsigned blocks, unsigned threads, unsigned shared, cuda::Stream handle,
                      void** parameters);
  cuda::Result launch_graph(size_t exec, cuda::Stream handle);

  FakeOptions options_;
  const size_t number_;    // number of its context
  char* range_ = nullptr;  // addresses of device memory
  int64_t used_ = 0, taken_ = 0;
  std::map<uint64_t, Allocation> allocations_;  // keyed by address; dead ones too
  std::deque<StreamState> streams_;             // entry 0 is no stream; a handle is the index
  std::deque<EventState> events_;
  std::deque<std::vector<FakeKernel>> images_;
  std::deque<ModuleState> modules_;
  std::deque<GraphState> graphs_, execs_;
  std::deque<Capture> captures_;                        // index: number of the capture
  std::map<size_t, size_t> side_lanes_;                 // streams for work captured on other streams than the first
  std::deque<std::pair<size_t, FakeKernel*>> kernels_;  // module, kernel
  std::map<std::string, std::pair<int, cuda::Result>> failures_;
  std::set<std::string> skipped_;
  std::string uncapturable_;
  cuda::Result losing_ = cuda::kSuccess, lost_ = cuda::kSuccess;
  std::map<std::pair<std::string, uint64_t>, int64_t> known_;  // bytes, keyed by kernel and address
  std::map<std::string, double> slow_;                         // milliseconds, keyed by the beginnings of names
  std::string poisoned_;
  bool broken_ = false, has_faulted_ = false, is_initialised_ = false;
  int retained_ = 0;
  double now_ = 0;
  Clock host_{};
  int64_t operations_ = 0;
};

}  // namespace kb::test
