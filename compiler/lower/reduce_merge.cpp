// The last block of a reduction merges the partial results of all chunks.
#include <algorithm>

#include "compiler/lower/reduce_together.h"

namespace kb {

using ir::Reg;

namespace {

constexpr int64_t kMergeBytes = 32;  // bytes of each column's partials that a thread of the last block has under way

}  // namespace

// Merges all chunks: each group of threads merges a run of them, then groups are merged by halves. A group that no
// chunk is left for has no elements.
void ReduceTogether::merge_all(const Bank& shared) {
  const Stage& stage = stages_[0];
  const ir::Local elements = cx_.b.local(DType::i64, threads(), ir::Storage::block);
  const Bank own = make_bank(stage, lanes_reduce() ? 1 : cx_.b.lanes());
  cx_.b.threads([&](Reg number) { merge_run(stage, own, elements, cx_.math.of(number, threads() - 1)); });
  by_halves(own, shared, [&](const Index& thread, int64_t distance) {
    merge_halves(stage, own, shared, elements, thread, distance);
  });
  cx_.b.threads([&](Reg number) {
    cx_.b.branch(cx_.b.less(number, cx_.b.index(columns_)), [&] {
      const Index thread = cx_.math.of(number, threads() - 1);
      own_results(thread, [&] {
        std::vector<Parts> merged;
        for (size_t m = 0; m < stage.monoids.size(); ++m) merged.push_back(load(shared, m, result_place(thread)));
        bind_results(stage, merged, at_);
        store_kept_outputs(at_);
      });
    });
  });
}

// Merges the run of chunks of a thread's group into `own`, and notes in `elements` how many elements it has.
void ReduceTogether::merge_run(const Stage& stage, const Bank& own, const ir::Local& elements, const Index& thread) {
  const Reg chunks = cx_.argument("chunks", chunks_), group = cx_.math.emit(cx_.math.div(thread, columns_));
  const Reg run = cx_.b.div(cx_.b.add(chunks, cx_.b.index(groups() - 1)), cx_.b.index(groups()));
  const Reg first = cx_.b.min(cx_.b.mul(group, run), chunks), end = cx_.b.min(cx_.b.add(first, run), chunks);
  own_results(thread, [&] {
    const Index kept = nest_.kept_position(cx_.math, at_);
    initialise(own, stage, bank_place());
    const int64_t at_once = std::max<int64_t>(kMergeBytes / partial_bytes(stage), 1);
    cx_.b.loop(first, end, at_once, [&](Reg begin) { merge_some(stage, own, kept, first, begin, end, at_once); });
  });
  cx_.b.local_store(elements, cx_.math.emit(thread), ir::Access::uniform,
                    cx_.b.sub(elements_before(end), elements_before(first)));
}

// Returns how many elements of one result are in the chunks before `chunk`; all chunks but the last are full.
Reg ReduceTogether::elements_before(Reg chunk) {
  return cx_.b.min(cx_.b.mul(chunk, chunk_elements(Index{})), reduced_count());
}

// Merges `count` chunks from `begin` on, or those up to `end`. A branch would keep the loads after it from being
// under way with those before it, so for chunks past the end the last one is loaded, and nothing changes.
void ReduceTogether::merge_some(const Stage& stage, const Bank& own, const Index& kept, Reg first, Reg begin, Reg end,
                                int64_t count) {
  std::vector<std::vector<Parts>> parts;
  for (int64_t i = 0; i < count; ++i) {
    const Reg last = cx_.b.sub(end, cx_.b.index(1));
    const Index chunk = cx_.math.of(i == 0 ? begin : cx_.b.min(cx_.b.add(begin, cx_.b.index(i)), last));
    parts.emplace_back();
    for (size_t m = 0; m < own.size(); ++m) parts.back().push_back(partial(m, chunk, kept));
  }
  const Reg start = elements_before(first);
  Reg before = elements_before(begin);
  for (int64_t i = 0; i < count; ++i) {
    const Reg number = cx_.b.add(begin, cx_.b.index(i)), next = cx_.b.add(begin, cx_.b.index(i + 1));
    const Reg behind = elements_before(cx_.b.min(next, end));
    const Reg left_count = cx_.b.sub(before, start), right_count = cx_.b.sub(behind, before);
    for (size_t m = 0; m < own.size(); ++m) {
      const Monoid& monoid = stage.monoids[m];
      const Parts left = load(own, m, bank_place());
      Parts merged = monoid.merge(cx_.b, left, parts[static_cast<size_t>(i)][m], monoid.count(cx_.b, left_count),
                                  monoid.count(cx_.b, right_count));
      for (size_t part = 0; part < merged.size() && i > 0; ++part)
        merged[part] = cx_.b.compute(Op::select, cx_.b.less(number, end), merged[part], left[part]);
      store(own, m, bank_place(), merged);
    }
    before = behind;
  }
}

int64_t ReduceTogether::partial_bytes(const Stage& stage) {
  int64_t bytes = 0;
  for (const Monoid& monoid : stage.monoids) bytes += monoid.bytes();
  return bytes;
}

// Does a step of by_halves with parts that hold different numbers of elements; `elements` has those numbers.
void ReduceTogether::merge_halves(const Stage& stage, const Bank& own, const Bank& shared, const ir::Local& elements,
                                  const Index& thread, int64_t distance) {
  const bool is_first = distance == 0;
  const Reg here = cx_.math.emit(thread);
  const Reg there = cx_.math.emit(cx_.math.shift(thread, is_first ? threads() / 2 : distance));
  const Reg left_count = cx_.b.local_load(elements, here, ir::Access::uniform);
  const Reg right_count = cx_.b.local_load(elements, there, ir::Access::uniform);
  cx_.b.branch(cx_.b.less(cx_.b.index(0), right_count), [&] {
    own_results(thread, [&] {
      std::vector<Parts> right;
      for (size_t m = 0; m < stage.monoids.size(); ++m)
        right.push_back(load(shared, m, result_place(cx_.math.shift(thread, distance))));
      merge_into(is_first ? own : shared, stage, is_first ? bank_place() : result_place(thread), right, left_count,
                 right_count);
    });
    cx_.b.local_store(elements, here, ir::Access::uniform, cx_.b.add(left_count, right_count));
  });
  if (is_first) own_results(thread, [&] { copy(own, shared, result_place(thread)); });
}

}  // namespace kb
