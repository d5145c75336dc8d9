// plan_memory: takes a schedule whose buffers have sizes and live ranges; leaves offsets. It runs after order, because
// live ranges follow the order of launches, and after lower, which knows the sizes of scratch memory.
//
// This is offline packing of rectangles (live range x size): buffers are placed one by one at the lowest offset where
// nothing that lives at the same time lies. Several orders of placing are tried (by size, by size x duration, by
// duration, by start), and the smallest arena wins.
#include "compiler/schedule/plan_memory.h"

#include <algorithm>
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

// A block that has its place.
struct Placed {
  int64_t begin, end;
  int32_t first, last;
};

Plan place(const std::vector<Block>& blocks, const std::vector<int32_t>& sequence) {
  Plan plan;
  plan.offsets.assign(blocks.size(), 0);
  std::vector<Placed> placed;  // sorted: lower offsets first
  placed.reserve(blocks.size());
  for (int32_t index : sequence) {
    const Block& block = blocks[static_cast<size_t>(index)];
    int64_t offset = 0;
    for (const Placed& there : placed) {
      if (there.last < block.first || block.last < there.first) continue;
      if (there.begin - offset >= block.bytes) break;
      offset = std::max(offset, there.end);
    }
    plan.offsets[static_cast<size_t>(index)] = offset;
    plan.bytes = std::max(plan.bytes, offset + block.bytes);
    Placed fresh{offset, offset + block.bytes, block.first, block.last};
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [](int64_t value, const Placed& p) { return value < p.begin; });
    placed.insert(at, fresh);
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
    Plan plan = place(blocks, sequence);
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
