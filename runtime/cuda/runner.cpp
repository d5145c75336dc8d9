// Run k uses slot k % S, S = 2 or, with two lanes (lanes.h), 4: a block of page-locked memory, a block of the device,
// captured graphs, two events.
//   host     waits until run k - S was copied (its page-locked block is free), fills the block, or lends memory of its
//   own
//   copies   waits until run k - S was computed (its device block is free), copies, records `copied`
//   compute  waits for `copied`, runs the graphs - the programs, then the small outputs to the host -, records
//   `computed`
// So a run's inputs are copied beside the computation of the run before, and the host waits for the device only to
// read. All runners of a device compute on one stream, in the order of the calls.
#include "runtime/cuda/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "graph/rounding.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/lanes.h"
#include "runtime/standard_streams.h"

namespace kb::cuda {
namespace {

constexpr int64_t kPlaceAlignment = 256;
// Inputs up to this size are gathered in one page-locked block of each slot and copied at once. A larger one has a
// block of its own, which is made when it is first filled, so that an input that is always lent needs none.
constexpr int64_t kGathered = 64 << 10;
constexpr int kCaptureTries = 4;  // tries to capture a routine, on both slots together; after these it stays uncaptured

// A part of a slot's block of inputs or results.
struct Place {
  int64_t offset = 0, bytes = 0;
  int64_t end() const { return offset + bytes; }
};

struct Upload {
  Place to;
  const std::byte* from = nullptr;
};

struct Slot {
  explicit Slot(const OpenDevice& device) : copied(device.driver), computed(device.driver) {}

  std::unique_ptr<DeviceMemory> gathered, inputs;     // gathered is on the host, inputs on the device
  std::vector<std::unique_ptr<DeviceMemory>> single;  // host memory of each large input
  std::unique_ptr<DeviceMemory> results;              // host memory of the results
  std::vector<int64_t> version;                       // the step that brought each input
  std::vector<std::vector<std::byte*>> buffers;       // the buffers of each program
  EventHandle copied, computed;
  std::vector<std::vector<CapturedExec>> graphs;  // those of each routine's segments, once it was captured
};

class CudaRunner : public Runner {
 public:
  CudaRunner(const OpenDevice& device, Transfers& transfers, RunnerParts parts, bool has_ranks, bool sync_steps)
      : device_(device),
        transfers_(transfers),
        parts_(std::move(parts)),
        has_ranks_(has_ranks),
        is_captured_(!sync_steps),
        lanes_(device, parts_) {
    for (int64_t slot = 0; slot < kInputSlots * (lanes_.are_two() ? 2 : 1); ++slot) slots_.emplace_back(device);
    place_inputs();
    place_results();
    for (Slot& slot : slots_) make(slot);
    fresh_.resize(parts_.inputs.size());
    has_run_.resize(parts_.routines.size());
    refused_.resize(parts_.routines.size());
  }

  ~CudaRunner() override {
    device_.try_make_current();
    for (Stream stream : {device_.copies, device_.communication, device_.beside, device_.compute})
      device_.driver.stream_synchronize.function(stream);
    for (Slot& slot : slots_)
      for (const std::vector<CapturedExec>& graphs : slot.graphs)
        for (CapturedExec graph : graphs) device_.driver.graph_exec_destroy.function(graph);
  }
  CudaRunner(const CudaRunner&) = delete;
  CudaRunner& operator=(const CudaRunner&) = delete;

  std::byte* input(size_t i) override {
    if (is_scalar(i)) return scalars_.data() + inputs_[i].offset;
    open();
    std::byte* data = staged(next(), i);
    fresh_[i] = data;
    return data;
  }

  void lend(size_t i, const std::byte* from) override {
    ensure(!is_scalar(i), "a scalar input is no memory to lend");
    fresh_[i] = from;
  }

  void run(size_t routine) override {
    open();
    copy_inputs();
    compute(routine);
    finish();
  }

  // A run's inputs may be on their way until the run that takes its slot begins.
  int depth() const override { return static_cast<int>(slots_.size()) + 1; }

  int lag() const override { return parts_.routines.size() == 1 ? 1 : 0; }

  const std::byte* output(size_t i, int age) override {
    ensure(age >= 0 && age <= lag() && age < steps_, "an output of a step that has not been, or is forgotten");
    device_.make_current();
    Slot& slot = slot_of(steps_ - 1 - age);
    device_.wait(slot.computed.get());
    const int64_t bytes = parts_.outputs[i].bytes;
    if (is_kept(i)) return slot.results->data() + results_[i].offset;
    ensure(age == 0, "a large output of a step that is not the last");
    large_.resize(std::max(large_.size(), static_cast<size_t>(bytes)));
    transfers_.download(large_.data(), address(slot, i), bytes);
    return large_.data();
  }

  void wait() override {
    device_.make_current();
    device_.wait();
  }

  // Times one step by itself: its inputs are copied after the step before has ended.
  Profile profile() override {
    open();
    wait();
    const EventHandle begin = clock(device_.copies);
    copy_inputs();
    const EventHandle ready = clock(device_.compute);
    device_.wait(ready.get());
    Profile profile;
    profile.copies.push_back({"inputs", uploaded_bytes(), 0, ready.milliseconds_since(begin)});
    bind(next());
    for (size_t program : parts_.routines[0]) profile.append(parts_.programs[program]->profile());
    const EventHandle done = clock(device_.compute);
    send_results(next());
    const EventHandle sent = clock(device_.compute);
    device_.wait(sent.get());
    profile.copies.push_back({"results", result_bytes_, profile.end(), sent.milliseconds_since(done)});
    finish();
    return profile;
  }

 private:
  EventHandle clock(Stream stream) const {
    EventHandle event(device_.driver, kEventTimed);
    event.record(stream);
    return event;
  }
  int64_t uploaded_bytes() const {
    int64_t bytes = 0;
    for (const Upload& part : uploads_) bytes += part.to.bytes;
    return bytes;
  }

  Slot& slot_of(int64_t run) { return slots_[static_cast<size_t>(run) % slots_.size()]; }
  Slot& next() { return slot_of(steps_); }
  Slot& before() { return slot_of(steps_ + std::ssize(slots_) - 1); }
  bool is_scalar(size_t i) const { return parts_.inputs[i].type.shape.empty(); }
  bool is_gathered(size_t i) const { return parts_.inputs[i].type.bytes() <= kGathered; }
  bool is_kept(size_t i) const { return parts_.outputs[i].bytes <= kKeptOutputBytes; }

  // ---- places of inputs and results

  // Places scalars first, since they are copied with every step, and large inputs last.
  void place_inputs() {
    inputs_.resize(parts_.inputs.size());
    for (int kind : {0, 1, 2}) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if ((is_scalar(i) ? 0 : is_gathered(i) ? 1 : 2) != kind) continue;
        by_place_.push_back(i);
        inputs_[i] = {input_bytes_, parts_.inputs[i].type.bytes()};
        input_bytes_ = round_up(inputs_[i].end(), kPlaceAlignment);
      }
      if (kind == 0) scalars_.resize(static_cast<size_t>(input_bytes_));
      if (kind == 1) gathered_bytes_ = input_bytes_;
    }
  }

  void place_results() {
    for (const RunnerParts::Output& output : parts_.outputs) {
      results_.push_back({result_bytes_, output.bytes});
      if (output.bytes <= kKeptOutputBytes) result_bytes_ = round_up(results_.back().end(), kPlaceAlignment);
    }
  }

  void make(Slot& slot) {
    slot.gathered = allocate_pinned(device_, gathered_bytes_);
    slot.single.resize(inputs_.size());
    slot.inputs = allocate_device(device_, input_bytes_);
    slot.results = allocate_pinned(device_, result_bytes_);
    slot.version.resize(inputs_.size(), -1);
    std::map<std::string_view, std::byte*> places;
    for (size_t i = 0; i < inputs_.size(); ++i) places[parts_.inputs[i].name] = slot.inputs->data() + inputs_[i].offset;
    for (size_t p = 0; p < parts_.schedules.size(); ++p) {
      std::vector<std::byte*>& addresses = slot.buffers.emplace_back();
      for (const Buffer& buffer : parts_.schedules[p]->buffers)
        addresses.push_back(buffer.kind == BufferKind::input ? places.at(buffer.name) : parts_.address(p, buffer));
    }
    slot.graphs.resize(parts_.routines.size());
  }

  std::byte* address(const Slot& slot, size_t output) const {
    const auto& [program, view, bytes] = parts_.outputs[output];
    return slot.buffers[program][static_cast<size_t>(view.buffer)] + view.offset;
  }

  // Returns the page-locked memory of an input.
  std::byte* staged(Slot& slot, size_t i) {
    if (is_gathered(i)) return slot.gathered->data() + inputs_[i].offset;
    if (!slot.single[i]) slot.single[i] = allocate_pinned(device_, inputs_[i].bytes);
    return slot.single[i]->data();
  }

  // ---- taking a step

  // Waits until the host may write the next slot's block.
  void open() {
    if (is_open_) return;
    device_.make_current();
    if (steps_ >= std::ssize(slots_)) device_.wait(next().copied.get());
    is_open_ = true;
  }

  void copy_inputs() {
    Slot& slot = next();
    std::copy(scalars_.begin(), scalars_.end(), slot.gathered->data());
    if (steps_ >= std::ssize(slots_)) slot.computed.wait_on(device_.copies);
    for (const Upload& part : parts_to_upload())
      device_.driver(device_.driver.copy_to_device, address_of(slot.inputs->data() + part.to.offset), part.from,
                     static_cast<size_t>(part.to.bytes), device_.copies);
    for (size_t i = 0; i < inputs_.size(); ++i) renew(i);
    slot.copied.record(device_.copies);
    slot.copied.wait_on(device_.compute);
    if (lanes_.are_two()) slot.copied.wait_on(device_.beside);
  }

  // Returns the scalars and the fresh inputs; those that are adjacent on the host and on the device are one copy.
  const std::vector<Upload>& parts_to_upload() {
    uploads_.clear();
    if (!scalars_.empty()) uploads_.push_back({{0, std::ssize(scalars_)}, next().gathered->data()});
    for (const size_t i : by_place_) {
      if (!fresh_[i] || inputs_[i].bytes == 0) continue;
      Upload* last = uploads_.empty() ? nullptr : &uploads_.back();
      // Only neighbours in one allocation are joined: two adjacent allocations cannot be the source of one copy.
      if (last && in_block(last->from) && in_block(fresh_[i]) &&
          round_up(last->to.end(), kPlaceAlignment) == inputs_[i].offset &&
          last->from + (inputs_[i].offset - last->to.offset) == fresh_[i])
        last->to.bytes = inputs_[i].end() - last->to.offset;
      else
        uploads_.push_back({inputs_[i], fresh_[i]});
    }
    return uploads_;
  }

  bool in_block(const std::byte* at) {
    const std::byte* begin = next().gathered->data();
    return std::less_equal<>()(begin, at) && std::less<>()(at, begin + next().gathered->bytes());
  }

  // If nobody has filled an input for this step, it is copied from the step before.
  void renew(size_t i) {
    if (is_scalar(i)) return;
    Slot& slot = next();
    const int64_t version = before().version[i];
    if (!fresh_[i] && slot.version[i] != version && inputs_[i].bytes > 0)
      device_.driver(device_.driver.copy_on_device, address_of(slot.inputs->data() + inputs_[i].offset),
                     address_of(before().inputs->data() + inputs_[i].offset), static_cast<size_t>(inputs_[i].bytes),
                     device_.copies);
    slot.version[i] = fresh_[i] ? steps_ : version;
  }

  // Runs a routine. The first time, and with sync_steps every time, it runs directly, so that a fault names its
  // schedule step; later it runs as a graph, or directly if it cannot be captured.
  void compute(size_t routine) {
    Slot& slot = next();
    const bool may_capture = is_captured_ && has_run_[routine] && refused_[routine] < kCaptureTries;
    const bool captured = !slot.graphs[routine].empty() || (may_capture && try_capture(slot, routine));
    if (!captured) bind(slot);
    for (size_t s = 0; s < lanes_.segments(routine).size(); ++s) {
      const Segment& segment = lanes_.segments(routine)[s];
      lanes_.begin(segment);
      if (captured)
        device_.driver(device_.driver.graph_launch, slot.graphs[routine][s], lanes_.stream_of(segment));
      else
        enqueue(slot, routine, s);
      lanes_.end(segment);
    }
    has_run_[routine] |= !captured;
  }

  void finish() {
    next().computed.record(device_.compute);
    std::fill(fresh_.begin(), fresh_.end(), nullptr);
    is_open_ = false;
    ++steps_;
  }

  void bind(const Slot& slot) {
    for (size_t p = 0; p < parts_.programs.size(); ++p) parts_.programs[p]->bind(slot.buffers[p]);
  }

  void enqueue(Slot& slot, size_t routine, size_t segment) {
    for (const size_t program : lanes_.segments(routine)[segment].programs) parts_.programs[program]->run();
    if (routine == 0 && segment + 1 == lanes_.segments(routine).size()) send_results(slot);
  }

  void send_results(Slot& slot) {
    for (size_t i = 0; i < results_.size(); ++i)
      if (is_kept(i) && results_[i].bytes > 0)
        device_.driver(device_.driver.copy_to_host, slot.results->data() + results_[i].offset,
                       address_of(address(slot, i)), static_cast<size_t>(results_[i].bytes), device_.compute);
  }

  // Returns false when a routine cannot be captured, for example because a library allocates or loads in a later run
  // than its first. Nothing of it has run then, and it runs uncaptured; a later step tries again, as the library may
  // have all that it needs by then. Throws when the device is lost, and when there are several ranks: NCCL requires
  // that all of them capture a sum, or none.
  bool try_capture(Slot& slot, size_t routine) {
    try {
      capture(slot, routine);
      return true;
    } catch (const std::exception& error) {
      if (has_ranks_) throw;
      wait();
      if (++refused_[routine] == kCaptureTries)
        print_error(fmt::format(
            "kilobatch: a step cannot be captured as a CUDA graph: it is enqueued part by part, which costs the host "
            "time\n  got:  {}",
            error.what()));
      return false;
    }
  }

  void capture(Slot& slot, size_t routine) {
    bind(slot);
    std::vector<CapturedExec> graphs;
    try {
      for (size_t s = 0; s < lanes_.segments(routine).size(); ++s) graphs.push_back(captured_segment(slot, routine, s));
    } catch (...) {
      for (CapturedExec graph : graphs) device_.driver.graph_exec_destroy.function(graph);
      throw;
    }
    slot.graphs[routine] = std::move(graphs);
  }

  CapturedExec captured_segment(Slot& slot, size_t routine, size_t segment) {
    const Stream stream = lanes_.stream_of(lanes_.segments(routine)[segment]);
    CapturedExec graph = captured(device_.driver, stream, [&] { enqueue(slot, routine, segment); });
    device_.driver(device_.driver.graph_upload, graph, stream);
    return graph;
  }

  const OpenDevice& device_;
  Transfers& transfers_;
  RunnerParts parts_;
  const bool has_ranks_, is_captured_;
  Lanes lanes_;
  std::vector<Slot> slots_;
  std::vector<Place> inputs_, results_;
  std::vector<size_t> by_place_;  // numbers of the inputs, in the order of their places
  int64_t input_bytes_ = 0, gathered_bytes_ = 0, result_bytes_ = 0;
  std::vector<std::byte> scalars_;  // values of the scalars
  // Memory of each input if it was filled or lent since the last step; else null.
  std::vector<const std::byte*> fresh_;
  std::vector<Upload> uploads_;   // the copies of the present step
  std::vector<std::byte> large_;  // the large output that was read last
  std::vector<char> has_run_;     // tells whether each routine has run
  std::vector<int> refused_;      // number of failed captures of each routine
  bool is_open_ = false;          // true: the host may write the next slot's block
  int64_t steps_ = 0;             // number of steps enqueued
};

}  // namespace

std::unique_ptr<Runner> make_runner(const OpenDevice& device, Transfers& transfers, RunnerParts parts, bool has_ranks,
                                    bool sync_steps) {
  device.make_current();
  return std::make_unique<CudaRunner>(device, transfers, std::move(parts), has_ranks, sync_steps);
}

}  // namespace kb::cuda
