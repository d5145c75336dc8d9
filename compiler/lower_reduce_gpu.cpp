// Reductions on a GPU whose results have many elements each: the threads of a block step their own accumulators over
// vectors dealt round-robin, then combine them through block storage by halves. A block has one kept element (lanes
// reduce), or some columns, or a chunk of one of those; of the blocks with chunks of the same results, the last to
// finish merges all of them: groups of threads take runs of chunks, and combine what they have by halves.
#include <algorithm>
#include <bit>

#include "compiler/lower_reduce.h"

namespace kb {
namespace {

using ir::Reg;

constexpr int64_t kColumnVectors = 16;  // most vectors of kept elements that a block works on
constexpr int64_t kLoads = 4;           // that a thread has under way

class ReduceTogether : Reduce {
 public:
  ReduceTogether(const Graph& graph, const Group& group, const Target& target) : Reduce(graph, group, target) {}

  bool fits() const { return shares_results(); }

  Lowered lower() {
    choose_tiles();
    make_partials();
    const int32_t counter = two_phases_ ? cx_.add_scratch(DType::u32, tiles_) : -1;
    cx_.add_phase(chunks_ * tiles_, two_phases_ || kept_is_dynamic(), [&](const Index& tile) {
      chunk_at_ = two_phases_ ? quotient(tile, "tiles", tiles_) : Index{};
      const Index own = two_phases_ ? remainder(tile, "tiles", tiles_) : tile;
      at_.assign(nest_.dims.size(), Index{});
      if (lanes_reduce())
        set_outer_kept(at_, own);
      else
        choose_columns(own);
      Bank shared;
      for (const Stage& stage : stages_) shared = lower_stage(stage);
      if (!full_outputs_.empty() && !one_pass_) each_element([&] { store_full_outputs(at_); });
      if (two_phases_)
        cx_.b.last_block(counter, cx_.math.emit(own), cx_.argument("chunks", chunks_), [&] { merge_all(shared); });
    });
    return cx_.finish();
  }

 private:
  // ---- who has what ----

  void choose_tiles() {
    const int64_t lanes = cx_.b.lanes();
    int64_t reduced = 1;
    for (size_t d = two_phases_ ? 1 : 0; d < nest_.dims.size(); ++d)
      if (nest_.dims[d].reduced) reduced *= nest_.dims[d].extent;
    tiles_ = outer_items();
    if (!lanes_reduce()) {
      const Dim& last = nest_.dims.back();
      const auto vectors = static_cast<uint64_t>((last.extent + lanes - 1) / lanes);
      columns_ = last.dynamic ? kColumnVectors : std::min<int64_t>(std::bit_ceil(vectors), kColumnVectors);
      stretches_ = (last.extent + columns_ * lanes - 1) / (columns_ * lanes);
      tiles_ *= stretches_;
    }
    choose_chunks(reduced * columns_ * (lanes_reduce() ? 1 : lanes), std::max<int64_t>(blocks_at_once() / tiles_, 1));
  }

  // Target::max_partials is three a multiprocessor; a third accumulator takes the registers of the third block.
  int64_t blocks_at_once() const {
    size_t parts = 0;
    for (const Monoid& monoid : stages_[0].monoids) parts += monoid.parts();
    return parts > 2 ? cx_.target.max_partials * 2 / 3 : cx_.target.max_partials;
  }

  void choose_columns(const Index& tile) {
    const bool dynamic = nest_.dims.back().dynamic;
    if (!dynamic) set_outer_kept(at_, quotient(tile, "stretches", stretches_));
    stretch_begin_ =
        cx_.math.scale(dynamic ? tile : remainder(tile, "stretches", stretches_), columns_ * cx_.b.lanes());
  }

  // By an argument, once a tile: columns of all widths share one text.
  Index quotient(const Index& tile, const std::string& name, int64_t divisor) {
    return cx_.math.of(cx_.b.div(cx_.math.emit(tile), cx_.argument(name, divisor)));
  }
  Index remainder(const Index& tile, const std::string& name, int64_t divisor) {
    return cx_.math.of(cx_.b.mod(cx_.math.emit(tile), cx_.argument(name, divisor)));
  }

  int64_t threads() const { return cx_.target.block_threads; }
  int64_t groups() const { return threads() / columns_; }  // of threads with the same columns

  // Lanes of the thread's own columns, if there are any: at_ gets their index.
  void own_columns(const Index& thread, const std::function<void()>& body) {
    const int64_t lanes = cx_.b.lanes();
    const Index first = cx_.math.add(stretch_begin_, cx_.math.scale(cx_.math.mod(thread, columns_), lanes));
    const Extent whole = extent_of(cx_, nest_.dims.back());
    const auto vector = [&] {
      cx_.one_vector(cx_.least(lanes, whole, first), first, [&](const Index& at) {
        at_[inner()] = at;
        if (!whole.dynamic()) cx_.math.promise(at, whole.literal - 1);
        body();
      });
    };
    if (!whole.dynamic() && whole.literal % (columns_ * lanes) == 0) return vector();
    cx_.b.branch(cx_.b.less(cx_.math.emit(first), cx_.reg(whole)), vector);
  }

  // The thread's share of the reduced elements (of the chunk): at_ gets the reduced indices, in a lane loop.
  void own_elements(const Index& thread, const std::function<void()>& body) {
    const int64_t lanes = cx_.b.lanes();
    Dims shape;
    std::vector<size_t> dims;
    std::vector<Range> ranges;
    for (size_t d = 0; d < nest_.dims.size(); ++d) {
      if (!nest_.dims[d].reduced) continue;
      const bool by_lanes = lanes_reduce() && d == inner();
      dims.push_back(d);
      ranges.push_back(range(d, chunk_at_));
      shape.push_back(by_lanes ? (nest_.dims[d].extent + lanes - 1) / lanes : nest_.dims[d].extent);
    }
    Reg total = vectors_of(ranges[0].count, dims[0]);
    for (size_t i = 1; i < dims.size(); ++i) total = cx_.b.mul(total, cx_.b.index(shape[i]));
    int64_t known = 0;
    const bool literal = cx_.b.literal(total, &known);
    const Index who = lanes_reduce() ? thread : cx_.math.div(thread, columns_);
    cx_.rounds_of_thread(
        literal ? cx_.literal(known) : Extent{0, total, 1}, literal ? known : IndexMath::kUnbounded, who, groups(),
        [&](const Index& own) {
          const Indices at = cx_.math.unflatten(own, shape);
          for (size_t i = 0; i < dims.size(); ++i) at_[dims[i]] = cx_.math.add(ranges[i].begin, at[i]);
          if (!lanes_reduce()) return body();
          const Index first = cx_.math.scale(at.back(), lanes);
          cx_.one_vector(cx_.least(lanes, ranges.back().count, first), first, [&](const Index& lane) {
            at_[inner()] = cx_.math.add(ranges.back().begin, lane);
            body();
          });
        },
        unroll());
  }

  // Returns how many rounds a thread has under way at once: kLoads over the large inputs, each read once a round.
  int32_t unroll() const {
    const auto large = std::count_if(cx_.group.inputs.begin(), cx_.group.inputs.end(), [&](Value v) {
      return 2 * cx_.graph.type(v).elements() >= element_count(cx_.group.domain);
    });
    return static_cast<int32_t>(std::max<int64_t>(kLoads / std::max<int64_t>(large, 1), 1));
  }

  Reg vectors_of(const Extent& count, size_t d) {
    if (!lanes_reduce() || d != inner()) return cx_.reg(count);
    const int64_t lanes = cx_.b.lanes();
    return cx_.b.div(cx_.b.add(cx_.reg(count), cx_.b.index(lanes - 1)), cx_.b.index(lanes));
  }

  void each_thread(const std::function<void(const Index&)>& body) {
    cx_.b.threads([&](Reg thread) {
      const Index number = cx_.math.of(thread, threads() - 1);
      for (size_t s = 0; s < slots_.size(); ++s) bind_slots(s);
      body(number);
    });
  }

  void each_element(const std::function<void()>& body) {
    each_thread([&](const Index& thread) { own_elements(thread, body); });
  }

  // ---- one stage ----

  // Gives the bank in block storage that it is done with where there are two phases.
  Bank lower_stage(const Stage& stage) {
    const int64_t width = lanes_reduce() ? 1 : cx_.b.lanes();
    const Bank shared = make_bank(stage, threads() * width, ir::Storage::block);
    each_thread([&](const Index& thread) {
      lanes_reduce() ? sum_row(stage, shared, thread) : sum_columns(stage, shared, thread);
    });
    for (int64_t half = groups() / 2; half > 0; half /= 2) {
      cx_.b.barrier();
      cx_.b.threads([&](Reg thread) {
        cx_.b.branch(cx_.b.less(thread, cx_.b.index(half * columns_)),
                     [&] { combine_halves(stage, shared, cx_.math.of(thread, threads() - 1), half * columns_); });
      });
    }
    cx_.b.barrier();
    if (lanes_reduce()) {
      finish_row(stage, shared);
      return shared;
    }
    each_thread([&](const Index& thread) {
      cx_.b.branch(cx_.b.less(cx_.math.emit(thread), cx_.b.index(columns_)),
                   [&] { own_columns(thread, [&] { finish_column(stage, shared, thread); }); });
    });
    return shared;
  }

  void sum_row(const Stage& stage, const Bank& shared, const Index& thread) {
    const std::vector<Reg> shifts = shifts_of(stage);
    const Bank own = make_bank(stage, cx_.b.lanes());
    cx_.one_vector(cx_.literal(cx_.b.lanes()), Index{}, [&](const Index&) { initialise(own, stage, bank_place()); });
    own_elements(thread, [&] { accumulate(own, stage, bank_place(), at_, shifts); });
    for (size_t m = 0; m < own.size(); ++m) store(shared, m, cx_.math.place(thread), fold(stage.monoids[m], own[m]));
  }

  void sum_columns(const Stage& stage, const Bank& shared, const Index& thread) {
    own_columns(thread, [&] {
      const std::vector<Reg> shifts = shifts_of(stage);
      const Bank own = make_bank(stage, cx_.b.lanes());
      initialise(own, stage, bank_place());
      own_elements(thread, [&] { accumulate(own, stage, bank_place(), at_, shifts); });
      for (size_t m = 0; m < own.size(); ++m) store(shared, m, column_place(thread), load(own, m, bank_place()));
    });
  }

  // Returns the place of a thread's vector in block storage.
  Place column_place(const Index& thread) {
    return {cx_.b.in_lanes() ? ir::Access::contiguous : ir::Access::uniform,
            cx_.math.emit(cx_.math.scale(thread, cx_.b.lanes())), true};
  }

  void combine_halves(const Stage& stage, const Bank& shared, const Index& thread, int64_t distance) {
    const auto at = [&](const Index& who) { return lanes_reduce() ? cx_.math.place(who) : column_place(who); };
    const auto both = [&] {
      const Place left = at(thread), right = at(cx_.math.shift(thread, distance));
      for (size_t m = 0; m < stage.monoids.size(); ++m)
        store(shared, m, left, stage.monoids[m].combine(cx_.b, load(shared, m, left), load(shared, m, right)));
    };
    lanes_reduce() ? both() : own_columns(thread, both);
  }

  std::vector<Parts> closed_parts(const Stage& stage, const Bank& shared, const Place& place) {
    const std::vector<Reg> shifts = shifts_of(stage);
    std::vector<Parts> closed;
    for (size_t m = 0; m < stage.monoids.size(); ++m)
      closed.push_back(stage.monoids[m].close(cx_.b, load(shared, m, place), shifts[m],
                                              stage.monoids[m].count(cx_.b, chunk_elements(chunk_at_))));
    return closed;
  }

  // Results of a row are in block storage: every thread loop from here on reads them from there.
  void finish_row(const Stage& stage, const Bank& shared) {
    slots_.push_back({&stage, shared});
    const bool last = &stage == &stages_.back();
    if (!last) return;
    each_thread([&](const Index& thread) {
      cx_.b.branch(cx_.b.less(cx_.math.emit(thread), cx_.b.index(1)), [&] {
        if (!two_phases_) return store_kept_outputs(at_);
        const std::vector<Parts> closed = closed_parts(stage, shared, bank_place());
        for (size_t m = 0; m < closed.size(); ++m) store_partial(m, closed[m], chunk_at_, at_);
      });
    });
  }

  void bind_slots(size_t s) {
    const auto& [stage, shared] = slots_[s];
    if (!two_phases_) bind_results(*stage, closed_parts(*stage, shared, bank_place()), at_);
  }

  void finish_column(const Stage& stage, const Bank& shared, const Index& thread) {
    const std::vector<Parts> closed = closed_parts(stage, shared, column_place(thread));
    if (!two_phases_) {
      bind_results(stage, closed, at_);
      return store_kept_outputs(at_);
    }
    for (size_t m = 0; m < closed.size(); ++m) store_partial(m, closed[m], chunk_at_, at_);
  }

  // Each group of threads merges a run of chunks, then groups are merged by halves. A group of which no chunk is left
  // has no elements.
  void merge_all(const Bank& shared) {
    const Stage& stage = stages_[0];
    const ir::Local elements = cx_.b.local(DType::i64, threads(), ir::Storage::block);
    cx_.b.threads([&](Reg number) { merge_run(stage, shared, elements, cx_.math.of(number, threads() - 1)); });
    for (int64_t half = groups() / 2; half > 0; half /= 2) {
      cx_.b.barrier();
      cx_.b.threads([&](Reg number) {
        cx_.b.branch(cx_.b.less(number, cx_.b.index(half * columns_)), [&] {
          merge_halves(stage, shared, elements, cx_.math.of(number, threads() - 1), half * columns_);
        });
      });
    }
    cx_.b.barrier();
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

  // The results that a thread merges: its columns, or the one that a row has.
  void own_results(const Index& thread, const std::function<void()>& body) {
    lanes_reduce() ? body() : own_columns(thread, body);
  }
  Place result_place(const Index& thread) { return lanes_reduce() ? cx_.math.place(thread) : column_place(thread); }

  void merge_run(const Stage& stage, const Bank& shared, const ir::Local& elements, const Index& thread) {
    const Reg chunks = cx_.argument("chunks", chunks_), group = cx_.math.emit(cx_.math.div(thread, columns_));
    const Reg run = cx_.b.div(cx_.b.add(chunks, cx_.b.index(groups() - 1)), cx_.b.index(groups()));
    const Reg first = cx_.b.min(cx_.b.mul(group, run), chunks), end = cx_.b.min(cx_.b.add(first, run), chunks);
    const Reg full = chunk_elements(Index{});
    own_results(thread, [&] {
      const Index kept = nest_.kept_position(cx_.math, at_);
      const Bank own = make_bank(stage, cx_.b.lanes());
      initialise(own, stage, bank_place());
      cx_.b.loop(
          first, end, 1,
          [&](Reg number) {
            const Index chunk = cx_.math.of(number);
            std::vector<Parts> parts;
            for (size_t m = 0; m < stage.monoids.size(); ++m) parts.push_back(partial(m, chunk, kept));
            merge_into(own, stage, bank_place(), parts, cx_.b.mul(cx_.b.sub(number, first), full),
                       chunk_elements(chunk));
          },
          static_cast<int32_t>(std::max<size_t>(kLoads / partial_buffers(), 1)));
      for (size_t m = 0; m < own.size(); ++m) store(shared, m, result_place(thread), load(own, m, bank_place()));
    });
    // All chunks but the last are full.
    const Reg last = cx_.b.sub(end, cx_.b.index(1)), count = cx_.b.mul(cx_.b.sub(last, first), full);
    cx_.b.local_store(elements, cx_.math.emit(thread), ir::Access::uniform, cx_.b.index(0));
    cx_.b.branch(cx_.b.less(first, end), [&] {
      const Reg all = cx_.b.add(count, chunk_elements(cx_.math.of(last)));
      cx_.b.local_store(elements, cx_.math.emit(thread), ir::Access::uniform, all);
    });
  }

  size_t partial_buffers() const {
    size_t count = 0;
    for (const std::vector<int32_t>& parts : partials_) count += parts.size();
    return count;
  }

  void merge_halves(const Stage& stage, const Bank& shared, const ir::Local& elements, const Index& thread,
                    int64_t distance) {
    const Reg here = cx_.math.emit(thread), there = cx_.math.emit(cx_.math.shift(thread, distance));
    const Reg left_count = cx_.b.local_load(elements, here, ir::Access::uniform);
    const Reg right_count = cx_.b.local_load(elements, there, ir::Access::uniform);
    cx_.b.branch(cx_.b.less(cx_.b.index(0), right_count), [&] {
      own_results(thread, [&] {
        std::vector<Parts> right;
        for (size_t m = 0; m < stage.monoids.size(); ++m)
          right.push_back(load(shared, m, result_place(cx_.math.shift(thread, distance))));
        merge_into(shared, stage, result_place(thread), right, left_count, right_count);
      });
      cx_.b.local_store(elements, here, ir::Access::uniform, cx_.b.add(left_count, right_count));
    });
  }

  struct Slot {
    const Stage* stage;
    Bank shared;
  };
  int64_t tiles_ = 1, columns_ = 1, stretches_ = 1;
  Index stretch_begin_;
  std::vector<Slot> slots_;
};

}  // namespace

Lowered lower_reduce_gpu(const Graph& graph, const Group& group, const Target& target) {
  if (ReduceTogether together(graph, group, target); together.fits()) return together.lower();
  return lower_reduce_alone(graph, group, target);
}

}  // namespace kb
