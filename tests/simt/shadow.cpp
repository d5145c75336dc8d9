#include "tests/simt/shadow.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace kb::simt {
namespace {

std::string who(const Stamp& stamp) { return fmt::format("thread {} of block {}", stamp.thread, stamp.block - 1); }

std::string while_copied(const Cell& cell) {
  return fmt::format(" while a copy of thread {} into it is under way", cell.copying - 1);
}

bool same_warp(const Stamp& x, const Stamp& y) { return x.thread / kWarp == y.thread / kWarp; }

}  // namespace

Area::Area(std::string name, const void* data, int64_t bytes, int64_t element, bool defined, bool shared)
    : name_(std::move(name)),
      begin_(reinterpret_cast<uintptr_t>(data)),
      end_(begin_ + static_cast<uintptr_t>(bytes)),
      element_(element),
      defined_(defined),
      shared_(shared),
      mapped_(static_cast<size_t>(bytes / element + 1) * sizeof(Cell)) {
  void* memory = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to watch " + name_);
  cells_ = static_cast<Cell*>(memory);
}

Area::~Area() {
  if (cells_) ::munmap(cells_, mapped_);
}

Area::Area(Area&& other) noexcept
    : name_(std::move(other.name_)),
      begin_(other.begin_),
      end_(other.end_),
      element_(other.element_),
      defined_(other.defined_),
      shared_(other.shared_),
      mapped_(other.mapped_),
      cells_(std::exchange(other.cells_, nullptr)) {}

std::string Area::place(uintptr_t at) const {
  const int64_t distance = static_cast<int64_t>(at - begin_);
  const int64_t index = distance >= 0 ? distance / element_ : -((element_ - 1 - distance) / element_);
  return fmt::format("{}[{}]", name_, index);
}

Area* Shadow::find(uintptr_t at) {
  if (last_ < areas_.size() && areas_[last_].contains(at)) return &areas_[last_];
  const auto found = std::ranges::find_if(areas_, [&](const Area& area) { return area.contains(at); });
  if (found == areas_.end()) return nullptr;
  last_ = static_cast<size_t>(found - areas_.begin());
  return &*found;
}

const Area* Shadow::nearest(uintptr_t at) const {
  const auto distance = [&](const Area& area) {
    return at >= area.end() ? at - area.end() : at < area.begin() ? area.begin() - at : 0;
  };
  const Area* best = nullptr;
  for (const Area& area : areas_)
    if (!best || distance(area) < distance(*best)) best = &area;
  return best;
}

void Shadow::enter(uint32_t block) {
  if (std::exchange(running_, block) == block) return;
  fences_.clear();
  shown_.clear();
}

void Shadow::fence(const Stamp& now) {
  enter(now.block);
  fences_[now.thread] = {now.epoch, now.clock};
}

void Shadow::show_products(const Stamp& now) {
  enter(now.block);
  shown_[now.thread].push_back({now.epoch, now.clock});
}

// Returns whether the writing thread made a fence after its write and before a barrier.
bool Shadow::shown(const Stamp& write, const Stamp& now) const {
  const auto fences = shown_.find(write.thread);
  return running_ == now.block && fences != shown_.end() &&
         std::ranges::any_of(fences->second, [&](const Fence& fence) {
           return fence.clock > write.clock && (fence.epoch < now.epoch || write.thread == now.thread);
         });
}

// Returns whether a fence lies between the access and the atomic. Within one thread, `clock` orders an access before a
// later fence or atomic.
bool Shadow::is_published(const Stamp& before, const Atomic& released) {
  const auto published_by = [&](uint32_t thread) {
    const auto fence = released.fences.find(thread);
    if (fence == released.fences.end()) return false;
    const auto [epoch, clock] = fence->second;
    const bool after = thread == before.thread ? clock > before.clock : epoch > before.epoch;
    const Stamp& atomic = released.stamp;
    return after && (thread == atomic.thread ? clock < atomic.clock : epoch < atomic.epoch);
  };
  return published_by(before.thread) || published_by(released.stamp.thread);
}

// Returns whether a fence lies between an atomic of the running block and the present access.
bool Shadow::has_acquired(const Stamp& atomic, const Stamp& now) const {
  const auto fenced = [&](uint32_t thread) {
    const auto fence = fences_.find(thread);
    return fence != fences_.end() && fence->second.clock > atomic.clock &&
           (thread == atomic.thread || fence->second.epoch > atomic.epoch) &&
           (thread == now.thread || fence->second.epoch < now.epoch);
  };
  return fenced(now.thread) || fenced(atomic.thread);
}

bool Shadow::has_acquired(const Stamp& now) const {
  const auto block = blocks_.find(now.block);
  return block != blocks_.end() &&
         std::ranges::any_of(block->second, [&](const auto& atomic) { return has_acquired(atomic.second.stamp, now); });
}

// Returns whether an access is ordered before the present one in another block, by a counter of both.
bool Shadow::ordered_between_blocks(const Stamp& before, const Stamp& now) const {
  const auto from = blocks_.find(before.block), to = blocks_.find(now.block);
  if (from == blocks_.end() || to == blocks_.end()) return false;
  return std::ranges::any_of(from->second, [&](const auto& released) {
    const auto acquired = to->second.find(released.first);
    return acquired != to->second.end() && is_published(before, released.second) &&
           has_acquired(acquired->second.stamp, now);
  });
}

bool Shadow::ordered(const Stamp& before, const Stamp& now) const {
  if (before.block == 0) return true;
  if (before.block != now.block) return ordered_between_blocks(before, now);
  return before.thread == now.thread || before.epoch != now.epoch ||
         (same_warp(before, now) && before.warp_epoch != now.warp_epoch);
}

std::string Shadow::conflict(const char* what, const Stamp& before, const Stamp& now) const {
  const char* missing = before.block == now.block ? "no barrier lies between"
                                                  : "no barrier, fence and atomic in turn, here and there, publish it";
  return fmt::format("{} by {}: a race, {}", what, who(before), missing);
}

std::string Shadow::read(Cell& cell, bool constant, bool shared, const Stamp& now) const {
  const bool written = cell.write.block != 0 && (!shared || cell.write.block == now.block);
  if (!written && !cell.defined) return "but never written";
  if (constant && cell.write.block != 0)
    return fmt::format("as a constant, but written in this launch by {}", who(cell.write));
  if (written && !ordered(cell.write, now)) return conflict("and written", cell.write, now);
  cell.constant_read |= constant;
  const Stamp& before = cell.read;
  if (before.block != now.block) {
    cell.several_blocks |= before.block != 0;
    cell.several_warps = cell.several_threads = false;
  } else if (before.epoch != now.epoch) {
    cell.several_warps = cell.several_threads = false;
  } else if (!same_warp(before, now)) {
    cell.several_warps = true;
  } else if (before.thread != now.thread) {
    cell.several_threads = before.warp_epoch == now.warp_epoch;
  }
  cell.read = now;
  return "";
}

std::string Shadow::write(Cell& cell, bool shared, const Stamp& now) const {
  if (cell.constant_read) return fmt::format("but read as a constant in this launch by {}", who(cell.read));
  if (!(shared && cell.write.block != now.block) && !ordered(cell.write, now))
    return conflict("and written", cell.write, now);
  const Stamp& read = cell.read;
  if (shared && read.block != now.block) return "";
  const bool same_epoch = read.block == now.block && read.epoch == now.epoch;
  const bool by_others =
      (same_epoch && (cell.several_warps ||
                      (cell.several_threads && (!same_warp(read, now) || read.warp_epoch == now.warp_epoch)))) ||
      (!shared && cell.several_blocks && !has_acquired(now));
  if (by_others || !ordered(read, now)) return conflict("and read", read, now);
  return "";
}

std::string Shadow::access(Area& area, uintptr_t at, uint32_t bytes, Use use, const Stamp& now) {
  const int64_t last = area.index(at + bytes - 1);
  for (int64_t i = area.index(at); i <= last; ++i) {
    Cell& cell = area.cell(i);
    cell.defined |= area.defined();
    const bool writes = is_write(use);
    std::string wrong = cell.copying              ? while_copied(cell)
                        : writes && cell.products ? " while a product that reads it is under way"
                        : writes                  ? write(cell, area.shared(), now)
                                                  : read(cell, use == Use::read_constant, area.shared(), now);
    if (use == Use::product && wrong.empty() && !shown(cell.write, now))
      wrong = fmt::format("but {} wrote it and did not call show_tensor_cores()", who(cell.write));
    if (!wrong.empty())
      return fmt::format("{} is {} by {}{}{}", area.place(area.begin() + static_cast<uintptr_t>(i * area.element())),
                         use == Use::product ? "multiplied"
                         : writes            ? "written"
                                             : "read",
                         who(now), wrong.starts_with(' ') ? "" : ", ", wrong);
    cell.products += use == Use::product;
    if (!writes) continue;
    cell.write = now;
    cell.atomic = false;
    if (use == Use::copy) cell.copying = static_cast<uint16_t>(now.thread + 1);
  }
  return "";
}

void Shadow::land(uintptr_t at, uint32_t bytes, const Stamp& now) {
  Area& area = *find(at);
  const int64_t last = area.index(at + bytes - 1);
  for (int64_t i = area.index(at); i <= last; ++i) {
    area.cell(i).write = now;
    area.cell(i).copying = 0;
  }
}

void Shadow::end_product(uintptr_t at, uint32_t bytes, const Stamp& now) {
  Area& area = *find(at);
  const int64_t last = area.index(at + bytes - 1);
  for (int64_t i = area.index(at); i <= last; ++i) {
    Cell& cell = area.cell(i);
    --cell.products;
    cell.read = now;
    cell.several_warps = cell.several_threads = true;
  }
}

// Checks an atomic. Atomics never race with each other.
std::string Shadow::atomic(Area& area, uintptr_t at, const Stamp& now) {
  Cell& cell = area.cell(area.index(at));
  cell.defined |= area.defined();
  if (cell.copying) return fmt::format("{} is counted up by {}{}", area.place(at), who(now), while_copied(cell));
  const bool written = cell.write.block != 0 && (!area.shared() || cell.write.block == now.block);
  if (!written && !cell.defined) return area.place(at) + " is counted up but never written";
  if (written && !cell.atomic && !ordered(cell.write, now))
    return fmt::format("{} is counted up by {}, {}", area.place(at), who(now),
                       conflict("and written", cell.write, now));
  cell.write = now;
  cell.atomic = true;
  Atomic& counted = blocks_[now.block][at];
  counted.stamp = now;
  counted.fences = running_ == now.block ? fences_ : decltype(fences_){};
  return "";
}

}  // namespace kb::simt
