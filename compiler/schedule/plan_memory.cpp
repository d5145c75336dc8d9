// plan_memory: takes a schedule whose buffers have sizes and live ranges; leaves offsets. It runs after order, because
// live ranges follow the order of launches, and after lower, which knows the sizes of scratch memory.
//
// This is offline packing of rectangles (live range x size): buffers are placed one by one at the lowest offset where
// nothing that lives at the same time lies. Several orders of placing are tried (by size, by size x duration, by
// duration, by start), and the smallest arena wins.
#include "compiler/schedule/plan_memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "graph/rounding.h"

namespace kb {
namespace {

constexpr double kGoodEnough = 1.001;  // an arena of so many times the liveness bound ends the search

int64_t padded(int64_t bytes) { return round_up(std::max<int64_t>(bytes, 1), kAlignment); }

struct Block {
  int32_t buffer;
  int64_t bytes;
  int32_t first, last;
};

struct Plan {
  std::vector<int64_t> offsets;  // in bytes, one per block
  int64_t bytes = 0;
};

std::vector<Block> blocks_of(const Schedule& schedule, int64_t redzone_bytes) {
  std::vector<Block> blocks;
  for (int32_t b = 0; b < static_cast<int32_t>(schedule.buffers.size()); ++b) {
    const Buffer& buffer = schedule.buffers[static_cast<size_t>(b)];
    if (buffer.is_planned()) blocks.push_back({b, padded(buffer.bytes + redzone_bytes), buffer.first, buffer.last});
  }
  return blocks;
}

// Offsets that are taken: intervals, of which those that touch are one.
class Taken {
 public:
  void add(int64_t begin, int64_t end) {
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second >= begin) begin = (--at)->first;
    for (; at != ends_.end() && at->first <= end; at = ends_.erase(at)) end = std::max(end, at->second);
    ends_.emplace_hint(at, begin, end);
  }

  // Returns the lowest offset from `offset` on where so many bytes are free.
  int64_t free_from(int64_t offset, int64_t bytes) const {
    auto at = ends_.upper_bound(offset);
    if (at != ends_.begin()) offset = std::max(offset, std::prev(at)->second);
    for (; at != ends_.end() && at->first - offset < bytes; ++at) offset = at->second;
    return offset;
  }

 private:
  std::map<int64_t, int64_t> ends_;  // end of each interval by its begin
};

// The blocks that have their places, in a tree over the steps: a node stands for a range of steps, its children for the
// halves. Blocks lie so densely that few intervals are kept, so that placing n of them takes about n log(steps) time.
class Packing {
 public:
  explicit Packing(size_t steps)
      : steps_(static_cast<int32_t>(std::bit_ceil(steps))), ranges_(2 * std::bit_ceil(steps)) {}

  // Places a block at the lowest offset where nothing that lives at the same time lies, and returns the offset.
  int64_t place(const Block& block) {
    std::vector<const Taken*> all;
    visit(block, 1, 0, steps_,
          [&](StepRange& range, bool lives) { all.push_back(lives ? &range.some : &range.whole); });
    int64_t offset = 0;
    size_t agreeing = 0;  // the last so many of `all`, in turn, have the block's bytes free there
    for (size_t i = 0; agreeing < all.size(); i = (i + 1) % all.size()) {
      const int64_t free = all[i]->free_from(offset, block.bytes);
      agreeing = free == offset ? agreeing + 1 : 1;
      offset = free;
    }
    visit(block, 1, 0, steps_, [&](StepRange& range, bool lives) {
      range.some.add(offset, offset + block.bytes);
      if (lives) range.whole.add(offset, offset + block.bytes);
    });
    return offset;
  }

 private:
  struct StepRange {
    Taken some;   // offsets of the blocks that live in some of the range
    Taken whole;  // offsets of those that live in all of it, but not in all of the range above
  };

  // Calls f(range, whether the block lives in all of it) for the ranges from node `n` down, the steps [begin, end), in
  // which the block lives. It leaves out those below a range in all of which the block lives.
  template <class F>
  void visit(const Block& block, size_t n, int32_t begin, int32_t end, const F& f) {
    if (block.last < begin || end <= block.first) return;
    const bool lives_throughout = block.first <= begin && end <= block.last + 1;
    f(ranges_[n], lives_throughout);
    if (lives_throughout) return;
    const int32_t middle = begin + (end - begin) / 2;
    visit(block, 2 * n, begin, middle, f);
    visit(block, 2 * n + 1, middle, end, f);
  }

  int32_t steps_;
  std::vector<StepRange> ranges_;  // the root has number 1, the children of n are 2 n and 2 n + 1
};

Plan place(const std::vector<Block>& blocks, const std::vector<int32_t>& sequence, size_t steps) {
  Plan plan;
  plan.offsets.assign(blocks.size(), 0);
  Packing packing(steps);
  for (const int32_t index : sequence) {
    const Block& block = blocks[static_cast<size_t>(index)];
    const int64_t offset = packing.place(block);
    plan.offsets[static_cast<size_t>(index)] = offset;
    plan.bytes = std::max(plan.bytes, offset + block.bytes);
  }
  return plan;
}

// Every block adds its bytes where its live range begins and takes them away after the range ends; the running sum of
// these differences is the number of bytes live at each step.
std::vector<int64_t> live_bytes(const std::vector<Block>& blocks, size_t steps) {
  std::vector<int64_t> live(steps + 2, 0);
  for (const Block& block : blocks) {
    live[static_cast<size_t>(block.first)] += block.bytes;
    live[static_cast<size_t>(block.last) + 1] -= block.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  return live;
}

}  // namespace

std::vector<int64_t> live_bytes(const Schedule& schedule, int64_t redzone_bytes) {
  std::vector<int64_t> live = live_bytes(blocks_of(schedule, redzone_bytes), schedule.steps.size());
  live.resize(schedule.steps.size());
  return live;
}

void plan_memory(Schedule& schedule, int64_t redzone_bytes) {
  std::vector<Block> blocks = blocks_of(schedule, redzone_bytes);
  const std::vector<int64_t> live = live_bytes(blocks, schedule.steps.size());
  schedule.liveness_bound_bytes = *std::max_element(live.begin(), live.end());
  auto length = [](const Block& b) { return static_cast<double>(b.last - b.first + 1); };
  using Before = bool (*)(const Block&, const Block&);
  Before by_size = [](const Block& a, const Block& b) { return a.bytes > b.bytes; };
  Before by_start = [](const Block& a, const Block& b) { return a.first < b.first; };
  auto by_area = [&](const Block& a, const Block& b) {
    return static_cast<double>(a.bytes) * length(a) > static_cast<double>(b.bytes) * length(b);
  };
  auto by_length = [&](const Block& a, const Block& b) { return length(a) > length(b); };

  Plan best;
  auto attempt = [&](auto before) {
    if (!best.offsets.empty() &&
        static_cast<double>(best.bytes) <= kGoodEnough * static_cast<double>(schedule.liveness_bound_bytes))
      return;
    std::vector<int32_t> sequence(blocks.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    std::stable_sort(sequence.begin(), sequence.end(), [&](int32_t a, int32_t b) {
      return before(blocks[static_cast<size_t>(a)], blocks[static_cast<size_t>(b)]);
    });
    Plan plan = place(blocks, sequence, live.size());
    if (best.offsets.empty() || plan.bytes < best.bytes) best = std::move(plan);
  };
  attempt(by_size);
  attempt(by_area);
  attempt(by_length);
  attempt(by_start);
  for (size_t i = 0; i < blocks.size(); ++i)
    schedule.buffers[static_cast<size_t>(blocks[i].buffer)].offset = best.offsets[i];
  schedule.arena_bytes = best.bytes;
}

}  // namespace kb
