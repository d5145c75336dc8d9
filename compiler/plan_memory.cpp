// plan_memory: takes a schedule whose buffers have sizes and live ranges; leaves offsets. It stands behind order and
// lower (scratch sizes).
//
// Offline packing of rectangles (live range x size): buffers are placed one by one at the lowest offset where nothing
// that lives at the same time lies. Several orders of placing are tried (by size; by size x duration; by start), the
// smallest arena wins.
#include "compiler/plan_memory.h"

#include <algorithm>
#include <numeric>

namespace kb {
namespace {

int64_t padded(int64_t bytes) { return (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment; }

struct Block {
  int32_t buffer;
  int64_t bytes;
  int32_t first, last;
};

struct Plan {
  std::vector<int64_t> offsets;  // by block
  int64_t bytes = 0;
};

std::vector<Block> blocks_of(const Schedule& schedule, int64_t redzone_bytes) {
  std::vector<Block> blocks;
  for (int32_t b = 0; b < static_cast<int32_t>(schedule.buffers.size()); ++b) {
    const Buffer& buffer = schedule.buffers[static_cast<size_t>(b)];
    if (buffer.kind == BufferKind::arena || buffer.kind == BufferKind::output)
      blocks.push_back({b, padded(buffer.bytes + redzone_bytes), buffer.first, buffer.last});
  }
  return blocks;
}

// Blocks placed so far, found by time: bucket t holds those alive in the t-th stretch of steps.
class Placed {
 public:
  Placed(size_t blocks, int32_t steps)
      : stretch_(std::max(1, steps / 128)), buckets_(static_cast<size_t>(steps / stretch_ + 1)), seen_(blocks, -1) {}

  void add(int32_t index, const Block& block) {
    for (int32_t t = block.first / stretch_; t <= block.last / stretch_; ++t)
      buckets_[static_cast<size_t>(t)].push_back(index);
  }

  template <class F>
  void for_each_alive(int32_t asking, const Block& block, const std::vector<Block>& blocks, F f) {
    for (int32_t t = block.first / stretch_; t <= block.last / stretch_; ++t)
      for (int32_t other : buckets_[static_cast<size_t>(t)]) {
        const Block& there = blocks[static_cast<size_t>(other)];
        if (seen_[static_cast<size_t>(other)] == asking || there.last < block.first || block.last < there.first)
          continue;
        seen_[static_cast<size_t>(other)] = asking;
        f(other);
      }
  }

 private:
  int32_t stretch_;
  std::vector<std::vector<int32_t>> buckets_;
  std::vector<int32_t> seen_;
};

Plan place(const std::vector<Block>& blocks, const std::vector<int32_t>& sequence, int32_t steps) {
  Plan plan;
  plan.offsets.assign(blocks.size(), 0);
  Placed placed(blocks.size(), steps);
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (int32_t index : sequence) {
    const Block& block = blocks[static_cast<size_t>(index)];
    taken.clear();
    placed.for_each_alive(index, block, blocks, [&](int32_t other) {
      int64_t offset = plan.offsets[static_cast<size_t>(other)];
      taken.emplace_back(offset, offset + blocks[static_cast<size_t>(other)].bytes);
    });
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (begin - offset >= block.bytes) break;
      offset = std::max(offset, end);
    }
    plan.offsets[static_cast<size_t>(index)] = offset;
    plan.bytes = std::max(plan.bytes, offset + block.bytes);
    placed.add(index, block);
  }
  return plan;
}

int64_t liveness_bound(const std::vector<Block>& blocks, size_t steps) {
  std::vector<int64_t> change(steps + 2, 0);
  for (const Block& block : blocks) {
    change[static_cast<size_t>(block.first)] += block.bytes;
    change[static_cast<size_t>(block.last) + 1] -= block.bytes;
  }
  int64_t live = 0, most = 0;
  for (int64_t delta : change) most = std::max(most, live += delta);
  return most;
}

}  // namespace

void plan_memory(Schedule& schedule, int64_t redzone_bytes) {
  std::vector<Block> blocks = blocks_of(schedule, redzone_bytes);
  auto steps = static_cast<int32_t>(schedule.steps.size());
  schedule.liveness_bound_bytes = liveness_bound(blocks, schedule.steps.size());
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
    if (!best.offsets.empty() && best.bytes == schedule.liveness_bound_bytes) return;
    std::vector<int32_t> sequence(blocks.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    std::stable_sort(sequence.begin(), sequence.end(), [&](int32_t a, int32_t b) {
      return before(blocks[static_cast<size_t>(a)], blocks[static_cast<size_t>(b)]);
    });
    Plan plan = place(blocks, sequence, steps);
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
