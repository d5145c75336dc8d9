// Reductions on a GPU whose results have many elements each. The threads of a block get vectors round-robin and step
// their own accumulators over them. Then they combine these by halves: the upper half of the threads hands its
// accumulators over through block storage, where the sums of the lower half then stay. A block has one kept element
// (lanes reduce), or some columns, or a chunk of one of those. Among the blocks with chunks of the same results, the
// last to finish merges all chunks: groups of threads merge runs of chunks, and combine what they have by halves.
//
// If the group has a product (product.h), a block goes through its chunk by tiles of rows, each of which it computes
// before its threads step over it.
//
// Chunks of columns go to wide blocks, one for each multiprocessor: fewer chunks, more groups in the last block. Short
// rows go to blocks of few threads.
#include "compiler/lower/reduce_together.h"
#include "graph/rounding.h"

namespace kb {

using ir::Reg;

ReduceTogether::ReduceTogether(const Graph& graph, const Group& group, const Target& target)
    : ReduceTiles(graph, group, target) {
  if (has_product()) product_.emplace(cx_, columns_ * cx_.b.lanes());
}

Lowered ReduceTogether::lower() {
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
    if (product_) product_->declare();
    Bank shared;
    for (const Stage& stage : stages_) shared = lower_stage(stage);
    if (!full_outputs_.empty() && !one_pass_) each_element([&] { store_full_outputs(at_); });
    if (two_phases_)
      cx_.b.last_block(counter, cx_.math.emit(own), cx_.argument("chunks", chunks_), [&] { merge_all(shared); });
  });
  Lowered lowered = cx_.finish();
  lowered.kernel.resident = is_wide() ? 1 : product_ ? Product::kResident : 0;
  return lowered;
}

void ReduceTogether::choose_columns(const Index& tile) {
  const bool dynamic = nest_.dims.back().dynamic;
  if (!dynamic) set_outer_kept(at_, quotient(tile, "stretches", stretches_));
  stretch_begin_ = cx_.math.scale(dynamic ? tile : remainder(tile, "stretches", stretches_), columns_ * cx_.b.lanes());
}

// These divide a tile's number by an argument, once a tile, so that columns of all widths share one text.
Index ReduceTogether::quotient(const Index& tile, const std::string& name, int64_t divisor) {
  return cx_.math.of(cx_.b.div(cx_.math.emit(tile), cx_.argument(name, divisor)));
}

Index ReduceTogether::remainder(const Index& tile, const std::string& name, int64_t divisor) {
  return cx_.math.of(cx_.b.mod(cx_.math.emit(tile), cx_.argument(name, divisor)));
}

void ReduceTogether::own_columns(const Index& thread, const std::function<void()>& body) {
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

void ReduceTogether::own_elements(const Index& thread, const std::function<void()>& body) {
  const int64_t lanes = cx_.b.lanes();
  Dims shape;
  std::vector<size_t> dims;
  std::vector<Range> ranges;
  for (size_t d = 0; d < nest_.dims.size(); ++d) {
    if (!nest_.dims[d].reduced) continue;
    const bool by_lanes = lanes_reduce() && d == inner();
    dims.push_back(d);
    ranges.push_back(range(d, chunk_at_));
    shape.push_back(by_lanes ? ceil_div(nest_.dims[d].extent, lanes) : nest_.dims[d].extent);
  }
  Reg total = vectors_of(ranges[0].count, dims[0]);
  for (size_t i = 1; i < dims.size(); ++i) total = cx_.b.mul(total, cx_.b.index(shape[i]));
  const std::optional<int64_t> known = cx_.b.literal(total);
  const Index who = lanes_reduce() ? thread : cx_.math.div(thread, columns_);
  cx_.rounds_of_thread(
      known ? cx_.literal(*known) : Extent{0, total, 1}, known.value_or(IndexMath::kUnbounded), who, groups(),
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

Reg ReduceTogether::vectors_of(const Extent& count, size_t d) {
  if (!lanes_reduce() || d != inner()) return cx_.reg(count);
  const int64_t lanes = cx_.b.lanes();
  return cx_.b.div(cx_.b.add(cx_.reg(count), cx_.b.index(lanes - 1)), cx_.b.index(lanes));
}

void ReduceTogether::each_thread(const std::function<void(const Index&)>& body) {
  cx_.b.threads([&](Reg thread) {
    const Index number = cx_.math.of(thread, threads() - 1);
    for (size_t s = 0; s < slots_.size(); ++s) bind_slots(s);
    body(number);
  });
}

void ReduceTogether::each_element(const std::function<void()>& body) {
  each_thread([&](const Index& thread) { own_elements(thread, body); });
}

// Lowers one stage. Returns its bank in block storage, which the merge of two phases may overwrite.
Reduce::Bank ReduceTogether::lower_stage(const Stage& stage) {
  const int64_t width = lanes_reduce() ? 1 : cx_.b.lanes();
  const Bank own = make_bank(stage, width);
  const Bank shared = make_bank(stage, threads() / 2 * width, ir::Storage::block);
  if (product_)
    sum_tiles(stage, own);
  else
    each_thread(
        [&](const Index& thread) { lanes_reduce() ? sum_row(stage, own, thread) : sum_columns(stage, own, thread); });
  by_halves(own, shared, [&](const Index& thread, int64_t distance) {
    own_results(thread, [&] {
      const Place at = result_place(thread), there = result_place(cx_.math.shift(thread, distance));
      for (size_t m = 0; m < own.size(); ++m) {
        const Parts left = distance == 0 ? load(own, m, bank_place()) : load(shared, m, at);
        store(shared, m, at, stage.monoids[m].combine(cx_.b, left, load(shared, m, there)));
      }
    });
  });
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

void ReduceTogether::sum_row(const Stage& stage, const Bank& own, const Index& thread) {
  const std::vector<Reg> shifts = shifts_of(stage);
  const Bank lanes = make_bank(stage, cx_.b.lanes());
  cx_.one_vector(cx_.literal(cx_.b.lanes()), Index{}, [&](const Index&) { initialise(lanes, stage, bank_place()); });
  own_elements(thread, [&] { accumulate(lanes, stage, bank_place(), at_, shifts); });
  for (size_t m = 0; m < own.size(); ++m) store(own, m, bank_place(), fold(stage.monoids[m], lanes[m]));
}

void ReduceTogether::sum_columns(const Stage& stage, const Bank& own, const Index& thread) {
  own_columns(thread, [&] {
    const std::vector<Reg> shifts = shifts_of(stage);
    initialise(own, stage, bank_place());
    own_elements(thread, [&] { accumulate(own, stage, bank_place(), at_, shifts); });
  });
}

// Combines the banks `own` of all threads at the beginning of `shared`, which has room for half of them. The upper
// half of the threads put theirs there, and the lower half add their own (a step of distance 0); each further step
// combines what is there with what is `distance` threads further on.
void ReduceTogether::by_halves(const Bank& own, const Bank& shared,
                               const std::function<void(const Index&, int64_t)>& step) {
  const int64_t upper = threads() / 2;
  cx_.b.threads([&](Reg number) {
    cx_.b.branch(cx_.b.less(cx_.b.index(upper - 1), number), [&] {
      const Index place = cx_.math.of(cx_.b.sub(number, cx_.b.index(upper)), upper - 1);
      own_results(cx_.math.of(number, threads() - 1), [&] { copy(own, shared, result_place(place)); });
    });
  });
  for (int64_t distance = 0, count = upper; count >= columns_; distance = count /= 2) {
    cx_.b.barrier();
    cx_.b.threads([&](Reg number) {
      cx_.b.branch(cx_.b.less(number, cx_.b.index(count)), [&] { step(cx_.math.of(number, threads() - 1), distance); });
    });
  }
  cx_.b.barrier();
}

void ReduceTogether::copy(const Bank& own, const Bank& shared, const Place& to) {
  for (size_t m = 0; m < own.size(); ++m) store(shared, m, to, load(own, m, bank_place()));
}

// Returns the place of a thread's vector in block storage.
Place ReduceTogether::column_place(const Index& thread) {
  return {cx_.b.in_lanes() ? ir::Access::contiguous : ir::Access::uniform,
          cx_.math.emit(cx_.math.scale(thread, cx_.b.lanes())), true};
}

std::vector<Parts> ReduceTogether::closed_parts(const Stage& stage, const Bank& shared, const Place& place) {
  const std::vector<Reg> shifts = shifts_of(stage);
  std::vector<Parts> closed;
  for (size_t m = 0; m < stage.monoids.size(); ++m)
    closed.push_back(stage.monoids[m].close(cx_.b, load(shared, m, place), shifts[m],
                                            stage.monoids[m].count(cx_.b, chunk_elements(chunk_at_))));
  return closed;
}

// Ends a stage of a row. Its results are in block storage, where every later thread loop reads them; after the last
// stage thread 0 stores the outputs, or with two phases the partial results.
void ReduceTogether::finish_row(const Stage& stage, const Bank& shared) {
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

// Makes the results of slot `s` known as values in the thread loop at hand.
void ReduceTogether::bind_slots(size_t s) {
  const auto& [stage, shared] = slots_[s];
  if (!two_phases_) bind_results(*stage, closed_parts(*stage, shared, bank_place()), at_);
}

void ReduceTogether::finish_column(const Stage& stage, const Bank& shared, const Index& thread) {
  const std::vector<Parts> closed = closed_parts(stage, shared, column_place(thread));
  if (!two_phases_) {
    bind_results(stage, closed, at_);
    return store_kept_outputs(at_);
  }
  for (size_t m = 0; m < closed.size(); ++m) store_partial(m, closed[m], chunk_at_, at_);
}

void ReduceTogether::own_results(const Index& thread, const std::function<void()>& body) {
  lanes_reduce() ? body() : own_columns(thread, body);
}

Place ReduceTogether::result_place(const Index& thread) {
  return lanes_reduce() ? cx_.math.place(thread) : column_place(thread);
}

Lowered lower_reduce_gpu(const Graph& graph, const Group& group, const Target& target) {
  ReduceTogether together(graph, group, target);
  if (!together.fits()) return lower_reduce_alone(graph, group, target);
  // A lowering refers to its target.
  Target wide = target, suitable = target;
  wide.block_threads = kWideThreads;
  ReduceTogether in_wide_blocks(graph, group, wide);
  if (in_wide_blocks.fits_wide()) return in_wide_blocks.lower();
  suitable.block_threads = together.suitable_threads();
  return ReduceTogether(graph, group, suitable).lower();
}

}  // namespace kb
