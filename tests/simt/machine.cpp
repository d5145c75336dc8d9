#include "tests/simt/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace kb::simt {
namespace {

int64_t count(const Dim& dim) { return int64_t{dim.x} * dim.y * dim.z; }

Dim place_in(const Dim& dim, uint32_t number) {
  return {number % dim.x, number / dim.x % dim.y, number / dim.x / dim.y};
}

template <class T>
bool within(const T& object, const void* at) {
  return at >= static_cast<const void*>(&object) && at < static_cast<const void*>(&object + 1);
}

void arrange(std::vector<uint32_t>& order, Order how, std::mt19937& random) {
  std::iota(order.begin(), order.end(), 0);
  if (how == Order::reverse) std::reverse(order.begin(), order.end());
  if (how == Order::shuffled) std::shuffle(order.begin(), order.end(), random);
}

}  // namespace

DynamicShared::DynamicShared(int64_t bytes)
    : data_(static_cast<std::byte*>(::operator new (static_cast<size_t>(bytes) + kMost, std::align_val_t{2 * kMost}))) {
  std::fill_n(data_.get(), bytes + kMost, std::byte{0xff});
}

thread_local Machine* Machine::running = nullptr;

const Hooks& Machine::hooks() {
  static constexpr Hooks table = {
      .access = [](const void* at, uint32_t bytes, uint32_t use) { running->access(at, bytes, static_cast<Use>(use)); },
      .shared = [](void* at, uint32_t element, uint32_t n, const char* name) { running->shared(at, element, n, name); },
      .dynamic_shared = [](uint32_t element, uint32_t alignment,
                           const char* name) { return running->dynamic_shared(element, alignment, name); },
      .barrier = [](uint32_t line) { running->wait(State::at_barrier, line); },
      .exchange = [](uint32_t mask, uint32_t line, uint32_t words, const uint64_t* given,
                     uint64_t* all) { running->exchange(mask, line, words, given, all); },
      .sync_warp = [](uint32_t mask, uint32_t line) { running->meet(mask, line, 0, nullptr, true); },
      .fence = [] { running->fence(); },
      .atomic = [](const void* at, uint32_t bytes) { running->atomic(at, bytes); },
      .copy = [](void* to, const void* from, uint32_t there) { running->copy(to, from, there != 0); },
      .end_copies = [] { running->copies_[running->thread_].end_group(); },
      .wait_copies = [](uint32_t groups) { running->wait_copies(groups); },
      .shared_address = [](const void* at) { return running->shared_address(at); },
      .show_tensor_cores = [] { running->show_tensor_cores(); },
      .begin_products =
          [](const float* sums, uint32_t n) {
            running->warpgroups_.begin(running->thread_, {sums, n});
          },
      .multiply =
          [](float* sums, uint32_t columns, uint64_t a, uint64_t b, uint32_t kind) {
            running->multiply(sums, {a, b, columns, (kind & kTransposedA) != 0, (kind & kTransposedB) != 0,
                                     (kind & kProductOfF16) != 0});
          },
      .end_products = [] { running->warpgroups_.end(running->thread_, *running); }};
  return table;
}

Machine::Machine(std::string name, const Entry& entry, const Launch& launch, std::span<void* const> parameters,
                 std::span<const Region> memory, bool watches)
    : name_(std::move(name)),
      entry_(entry),
      launch_(launch),
      parameters_(parameters.begin(), parameters.end()),
      unit_(*entry.unit),
      threads_(static_cast<size_t>(count(launch.block))),
      warp_epochs_((threads_.size() + kWarp - 1) / kWarp),
      values_(warp_epochs_.size()),
      copies_(threads_.size()),
      warpgroups_(threads_.size()),
      order_(threads_.size()),
      random_(launch.seed),
      watches_(watches),
      dynamic_shared_(std::clamp<int64_t>(launch.dynamic_shared, 0, Launch::kShared)) {
  check_launch();
  if (watches) add_memory(memory);
}

// Throws Fault for a launch that cuLaunchKernel would refuse.
void Machine::check_launch() const {
  const auto refuse = [&](const std::string& why) { throw Fault(fmt::format("launch of {}: {}", name_, why)); };
  if (parameters_.size() != entry_.parameters)
    refuse(fmt::format("{} parameters, the kernel has {}", parameters_.size(), entry_.parameters));
  const auto threads = static_cast<uint32_t>(threads_.size());
  if (threads == 0 || threads > 1024) refuse(fmt::format("a block of {} threads", threads));
  if (entry_.max_threads && threads > entry_.max_threads)
    refuse(fmt::format("a block of {} threads, its launch bounds are {}", threads, entry_.max_threads));
  if (count(launch_.grid) == 0 || launch_.grid.x > INT32_MAX || launch_.grid.y > 65535 || launch_.grid.z > 65535)
    refuse(fmt::format("a grid of {} x {} x {} blocks", launch_.grid.x, launch_.grid.y, launch_.grid.z));
  if (launch_.dynamic_shared < 0 || launch_.dynamic_shared > Launch::kShared)
    refuse(fmt::format("{} bytes of dynamic shared memory, a block has {}", launch_.dynamic_shared, Launch::kShared));
}

// Adds the memory of a launch. Regions that begin at one address (in-place operands) become one area with the length of
// the longer.
void Machine::add_memory(std::span<const Region> memory) {
  std::vector<Region> regions;
  for (const Region& region : memory) {
    const auto same =
        std::find_if(regions.begin(), regions.end(), [&](const Region& other) { return other.data == region.data; });
    if (same == regions.end()) {
      regions.push_back(region);
      continue;
    }
    same->bytes = std::max(same->bytes, region.bytes);
    same->defined |= region.defined;
  }
  for (const Region& region : regions) add_region(region);
}

// Adds an area, which gets its name and element size from the first parameter that points into it.
void Machine::add_region(const Region& region) {
  if (region.bytes == 0) return;
  std::string name = "memory";
  int64_t element = 8;
  const auto* begin = static_cast<const std::byte*>(region.data);
  for (size_t i = parameters_.size(); i-- > 0;) {
    if (entry_.parameter[i].element == 0) continue;
    const auto* pointer = *static_cast<const std::byte* const*>(parameters_[i]);
    if (pointer < begin || pointer >= begin + region.bytes) continue;
    name = pointer == begin ? fmt::format("b{}", i) : fmt::format("memory of b{}", i);
    element = std::min<int64_t>(element, entry_.parameter[i].element);
  }
  shadow_.add(Area(name, region.data, region.bytes, name == "memory" ? 1 : element, region.defined, false));
}

LaunchCounts Machine::run() {
  Machine* const outer = std::exchange(running, this);
  unit_.hooks = &hooks();
  unit_.grid_dim = launch_.grid;
  unit_.block_dim = launch_.block;
  std::vector<uint32_t> blocks(static_cast<size_t>(count(launch_.grid)));
  arrange(blocks, launch_.blocks, random_);
  for (const uint32_t number : blocks) {
    if (fault_.empty()) block(number);
  }
  running = outer;
  if (!fault_.empty()) throw Fault(fmt::format("kernel {}: {}", name_, fault_));
  return counts_;
}

void Machine::block(uint32_t number) {
  block_ = number;
  epoch_ = 0;
  unit_.block = place_in(launch_.grid, number);
  std::fill(threads_.begin(), threads_.end(), Thread{});
  std::fill(warp_epochs_.begin(), warp_epochs_.end(), 0);
  warpgroups_.clear();
  do {
    new_order();
    do {
      for (const uint32_t thread : order_)
        if (threads_[thread].state == State::ready && fault_.empty()) resume(thread);
    } while (fault_.empty() && finish_exchanges());
  } while (fault_.empty() && !finish_epoch());
}

void Machine::new_order() { arrange(order_, launch_.threads, random_); }

void Machine::resume(uint32_t number) {
  Thread& thread = threads_[number];
  thread_ = number;
  unit_.thread = place_in(launch_.block, number);
  if (!thread.fiber) {
    if (idle_.empty()) idle_.push_back(fibers_.emplace_back(std::make_unique<Fiber>()).get());
    thread.fiber = idle_.back();
    idle_.pop_back();
    thread.fiber->start(&Machine::enter, this);
  }
  thread.fiber->resume();
  if (thread.state == State::ended) idle_.push_back(thread.fiber);
}

void Machine::enter(void* argument) {
  auto* machine = static_cast<Machine*>(argument);
  const uint32_t thread = machine->thread_;
  machine->entry_.call(machine->parameters_.data());
  machine->threads_[thread].state = State::ended;
  if (!machine->copies_[thread].empty())
    machine->fault_ =
        fmt::format("thread {} of block {} ends with copies under way: a wait is missing", thread, machine->block_);
  if (machine->warpgroups_.under_way(thread))
    machine->fault_ =
        fmt::format("thread {} of block {} ends with products under way: a wait is missing", thread, machine->block_);
}

bool Machine::finish_exchanges() {
  bool any = false;
  for (uint32_t first = 0; first < threads_.size(); first += kWarp) any |= finish_exchange(first);
  return any;
}

// Completes a warp's exchange once all lanes that any of them names have arrived; they must name the same lanes in the
// same line.
bool Machine::finish_exchange(uint32_t first) {
  const uint32_t end = std::min<uint32_t>(first + kWarp, static_cast<uint32_t>(threads_.size()));
  bool any = false;
  for (uint32_t i = first; i < end; ++i) {
    if (threads_[i].state != State::at_exchange) continue;
    const Thread leader = threads_[i];
    for (uint32_t j = first; j < first + kWarp; ++j) {
      if (!(leader.mask >> (j - first) & 1)) continue;
      const bool here = j < end && threads_[j].state == State::at_exchange && threads_[j].mask == leader.mask &&
                        threads_[j].line == leader.line;
      if (!here) {
        fault_ = fmt::format("thread {} of block {} waits in line {} for lanes {:#x} of its warp, but thread {} {}", i,
                             block_, leader.line, leader.mask, j,
                             j >= end                            ? "is not in the block"
                             : threads_[j].state == State::ended ? "has ended"
                             : threads_[j].state == State::at_barrier
                                 ? fmt::format("waits at a barrier in line {}", threads_[j].line)
                                 : fmt::format("waits for lanes {:#x} in line {}", threads_[j].mask, threads_[j].line));
        return false;
      }
    }
    for (uint32_t j = i; j < end; ++j) {
      if (!(leader.mask >> (j - first) & 1)) continue;
      std::copy_n(threads_[j].given, threads_[j].words, values_[first / kWarp][j - first].begin());
      threads_[j].state = State::ready;
    }
    warp_epochs_[first / kWarp] += leader.orders;
    any = true;
  }
  return any;
}

bool Machine::finish_epoch() {
  if (const std::string wrong = warpgroups_.meet(); !wrong.empty()) {
    fault_ = fmt::format("in block {} {}", block_, wrong);
    return true;
  }
  const auto waits = [](const Thread& thread) { return thread.state == State::at_barrier; };
  const auto leader = std::find_if(threads_.begin(), threads_.end(), waits);
  if (leader == threads_.end()) return true;
  for (Thread& thread : threads_) {
    if (thread.state == State::at_barrier && thread.line == leader->line) continue;
    fault_ = fmt::format(
        "thread {} of block {} waits at the barrier in line {}, but thread {} {}", leader - threads_.begin(), block_,
        leader->line, &thread - threads_.data(),
        thread.state == State::ended ? "has ended" : fmt::format("waits at the one in line {}", thread.line));
    return true;
  }
  for (Thread& thread : threads_) thread.state = State::ready;
  ++epoch_;
  ++counts_.barriers;
  return false;
}

// Leaves the fiber for good. Nothing on its stack may own memory, since it is never resumed.
void Machine::stop_at_fault() {
  threads_[thread_].fiber->suspend();
  std::abort();
}

void Machine::wait(State state, uint32_t line) {
  Thread& thread = threads_[thread_];
  thread.state = state;
  thread.line = line;
  thread.fiber->suspend();
}

Stamp Machine::now() const { return {block_ + 1, epoch_, warp_epochs_[thread_ / kWarp], thread_, clock_}; }

void Machine::access(const void* address, uint32_t bytes, Use use) {
  ++counts_.accesses;
  std::string wrong;
  if (!threads_[thread_].fiber->holds(address)) {
    wrong = judge(address, bytes, use);
  } else if (warpgroups_.holds(thread_, address)) {  // else it is the thread's own
    wrong = fmt::format("sums of thread {} of block {} are {} between warpgroup_begin() and warpgroup_end()", thread_,
                        block_, is_write(use) ? "written" : "read");
  }
  if (wrong.empty()) return;
  fault_ = std::move(wrong);
  stop_at_fault();
}

std::string Machine::judge(const void* address, uint32_t bytes, Use use) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  Area* area = shadow_.find(at);
  if (!area || at + bytes > area->end()) {
    const auto* byte = static_cast<const char*>(address);
    const bool constant = !is_write(use) && byte >= unit_.image_begin && byte < unit_.image_end;
    const bool own = constant || within(unit_, address) || within(hooks(), address);
    return !area && own ? "" : out_of_bounds(at, bytes, use);
  }
  const uint32_t alignment = std::min<uint32_t>(bytes, 16);
  if ((bytes & (bytes - 1)) == 0 && at % alignment != 0)
    return fmt::format(
        "{} is accessed by {} bytes at once, but lies {} bytes past a multiple of {} (thread {} of "
        "block {})",
        area->place(at), bytes, at % alignment, alignment, thread_, block_);
  return shadow_.access(*area, at, bytes, use, now());
}

std::string Machine::out_of_bounds(uintptr_t at, uint32_t bytes, Use use) const {
  const Area* area = shadow_.nearest(at);
  const std::string where = area ? area->place(at) : "memory of nobody";
  const std::string size =
      area ? fmt::format(" of {} elements", static_cast<int64_t>(area->end() - area->begin()) / area->element()) : "";
  return fmt::format("{}{} is {} out of bounds ({} bytes, thread {} of block {})", where, size,
                     is_write(use) ? "written" : "read", bytes, thread_, block_);
}

void Machine::meet(uint32_t mask, uint32_t line, uint32_t words, const uint64_t* given, bool orders) {
  Thread& thread = threads_[thread_];
  if (!(mask >> (thread_ % kWarp) & 1)) {
    fault_ = fmt::format("thread {} of block {} is not among the lanes {:#x} that it waits for in line {}", thread_,
                         block_, mask, line);
    stop_at_fault();
  }
  thread.mask = mask;
  thread.words = words;
  thread.given = given;
  thread.orders = orders;
  wait(State::at_exchange, line);
}

void Machine::exchange(uint32_t mask, uint32_t line, uint32_t words, const uint64_t* given, uint64_t* all) {
  meet(mask, line, words, given, false);
  for (const auto& lane : values_[thread_ / kWarp]) all = std::copy_n(lane.begin(), words, all);
}

void Machine::fence() {
  if (!watches_) return;
  ++clock_;
  shadow_.fence(now());
}

void Machine::atomic(const void* address, uint32_t bytes) {
  if (!watches_) return;
  const auto at = reinterpret_cast<uintptr_t>(address);
  Area* area = shadow_.find(at);
  ++clock_;
  fault_ = area && at + bytes <= area->end() ? shadow_.atomic(*area, at, now()) : out_of_bounds(at, bytes, Use::write);
  if (!fault_.empty()) stop_at_fault();
}

}  // namespace kb::simt
