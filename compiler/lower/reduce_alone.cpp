// Reductions in which a tile of a CPU, or a thread of a GPU, reduces its kept elements alone. On a CPU a tile may also
// be a chunk of the outermost reduced dim, whose partial results a second phase merges in order. Sums of more than kRun
// elements a lane go by runs, so that their error stays that of short sums.
#include <algorithm>

#include "compiler/lower/reduce.h"
#include "graph/rounding.h"

namespace kb {
namespace {

using ir::Reg;

constexpr int64_t kRun = 512;     // most steps of an accumulator in one run
constexpr int64_t kLongRun = 16;  // least steps at which one index of a dim is a run of its own

class ReduceAlone : Reduce {
 public:
  ReduceAlone(const Graph& graph, const Group& group, const Target& target) : Reduce(graph, group, target) {}

  Lowered lower() {
    choose_tiles();
    make_partials();
    cx_.add_phase(chunks_ * tiles_, two_phases_ || kept_is_dynamic(), [&](const Index& tile) {
      chunk_at_ = two_phases_ ? cx_.math.div(tile, tiles_) : Index{};
      const Index own = two_phases_ ? cx_.math.mod(tile, tiles_) : tile;
      at_.assign(nest_.dims.size(), Index{});
      lanes_ == Lanes::kept_stretch ? stretch_tile(own) : items_tile(own);
    });
    if (two_phases_) second_phase();
    return cx_.finish();
  }

 private:
  // ---- tiles ----

  void choose_tiles() {
    int64_t reduced = 1;  // elements of one kept element, with two phases at one index of dims[0]
    for (size_t d = two_phases_ ? 1 : 0; d < nest_.dims.size(); ++d)
      reduced *= nest_.dims[d].reduced ? nest_.dims[d].extent : 1;
    if (lanes_ == Lanes::kept_stretch) {
      stretch_ = Context::chunk_of(nest_.dims.back().extent, kStretch, cx_.b.lanes());
      if (nest_.dims.back().dynamic)
        stretch_ = std::min(
            kStretch, std::max(cx_.b.lanes(), cx_.target.tile_elements / reduced / cx_.b.lanes() * cx_.b.lanes()));
      stretches_ = ceil_div(nest_.dims.back().extent, stretch_);
      tiles_ = outer_items() * stretches_;
      choose_chunks(reduced * stretch_, cx_.target.max_partials);
      return;
    }
    vectors_ = lanes_reduce() ? 1 : ceil_div(nest_.dims.back().extent, cx_.b.lanes());
    const int64_t items = outer_items() * vectors_;
    const int64_t work = lanes_reduce() ? reduced : reduced * cx_.b.lanes();
    per_tile_ = is_gpu() ? cx_.target.block_threads
                : nest_.dims[0].reduced && nest_.dims[0].extent > 1
                    ? 1  // its extent may grow
                    : std::max<int64_t>(cx_.target.tile_elements / work, 1);
    if (!kept_is_dynamic() && !is_gpu()) per_tile_ = std::min(per_tile_, items);
    tiles_ = ceil_div(items, per_tile_);
    choose_chunks(work, cx_.target.max_partials);
  }

  // Lowers a tile of items: an item is a kept element if lanes reduce, else one vector of kept elements.
  void items_tile(const Index& tile) {
    const Index begin = cx_.first_of_tile(tile, per_tile_);
    Dims shape = outer_kept();
    if (!lanes_reduce()) shape.push_back(vectors_);
    const int64_t items = element_count(shape);
    const Extent whole = kept_is_dynamic() ? Extent{0, cx_.argument("items", items), 1} : cx_.literal(items);
    cx_.shared(cx_.least(per_tile_, whole, begin), per_tile_, [&](const Index& i) {
      const Index item = cx_.math.add(begin, i);
      if (!kept_is_dynamic()) cx_.math.promise(item, items - 1);
      if (lanes_reduce()) {
        set_outer_kept(at_, item);
        return item_stages();
      }
      if (!inner_is_dynamic()) set_outer_kept(at_, cx_.math.div(item, vectors_));
      const Index first = cx_.math.scale(inner_is_dynamic() ? item : cx_.math.mod(item, vectors_), cx_.b.lanes());
      cx_.one_vector(cx_.least(cx_.b.lanes(), extent_of(cx_, nest_.dims.back()), first), first, [&](const Index& at) {
        at_[inner()] = at;
        item_stages();
      });
    });
  }

  void item_stages() {
    for (const Stage& stage : stages_) {
      const std::vector<Reg> shifts = shifts_of(stage);
      const Bank bank = make_bank(stage, cx_.b.lanes());
      reduce(stage, bank, shifts);
      std::vector<Parts> closed;
      for (size_t m = 0; m < stage.monoids.size(); ++m) {
        const Monoid& monoid = stage.monoids[m];
        const Parts parts = lanes_reduce() ? fold(monoid, bank[m]) : load(bank, m, bank_place());
        closed.push_back(monoid.close(cx_.b, parts, shifts[m], monoid.count(cx_.b, chunk_elements(chunk_at_))));
      }
      finish(stage, closed);
    }
    if (two_phases_) return;
    store_kept_outputs(at_);
    if (!full_outputs_.empty() && !one_pass_) over_domain(0, [&] { store_full_outputs(at_); });
  }

  void finish(const Stage& stage, const std::vector<Parts>& closed) {
    if (!two_phases_) return bind_results(stage, closed, at_);
    for (size_t m = 0; m < closed.size(); ++m) store_partial(m, closed[m], chunk_at_, at_);
  }

  // ---- loops over the reduced dims ----

  // Says in the loop over which dim runs are cut; after a run its accumulators are flushed into those of the whole.
  struct Runs {
    size_t dim = 0;
    int64_t size = 0;  // rounds of that dim in a run; 0 if the whole is short enough without runs
  };

  Runs choose_runs() const {
    int64_t rounds = 1;
    for (size_t d = nest_.dims.size(); d-- > 0;) {
      const Dim& dim = nest_.dims[d];
      if (!dim.reduced) continue;
      const bool by_lanes = lanes_reduce() && d == inner();
      const bool unknown = dim.dynamic || (two_phases_ && d == 0);
      const int64_t own = by_lanes ? ceil_div(dim.extent, cx_.b.lanes()) : dim.extent;
      if (unknown || rounds * own > kRun) {
        const int64_t size = rounds < kLongRun ? kRun / rounds : 1;
        return {d, size * (by_lanes ? cx_.b.lanes() : 1)};
      }
      rounds *= own;
    }
    return {};
  }

  using Do = std::function<void()>;

  void reduce(const Stage& stage, const Bank& bank, const std::vector<Reg>& shifts) {
    const Runs runs = choose_runs();
    over_bank([&](const Place& place) { initialise(bank, stage, place); });
    if (runs.size == 0) return reduced_loops(0, stage, bank, shifts, runs, nullptr);
    const Bank run = make_bank(stage, bank_extent());
    reduced_loops(0, stage, bank, shifts, runs, &run);
  }

  // Writes the loops over the reduced dims from `d` on. `run` has the accumulators of one run; it is null inside a run
  // and if there are no runs.
  void reduced_loops(size_t d, const Stage& stage, const Bank& bank, const std::vector<Reg>& shifts, const Runs& runs,
                     const Bank* run) {
    while (d < nest_.dims.size() && !nest_.dims[d].reduced) ++d;
    if (d == nest_.dims.size()) return innermost(stage, bank, shifts);
    const Range whole = range(d, chunk_at_);
    const auto rounds = [&](const Index& begin, const Extent& count, const Bank& into, const Bank* next) {
      const auto body = [&](const Index& i) {
        at_[d] = cx_.math.add(begin, i);
        if (!nest_.dims[d].dynamic) cx_.math.promise(at_[d], nest_.dims[d].extent - 1);
        reduced_loops(d + 1, stage, into, shifts, runs, next);
      };
      lanes_reduce() && d == inner() ? cx_.vectors(count, body) : cx_.serial(count, body);
    };
    if (!run || d != runs.dim) return rounds(whole.begin, whole.count, bank, run);
    cx_.blocks(whole.count, runs.size, [&](const Index& begin, const Extent& count) {
      over_bank([&](const Place& place) { initialise(*run, stage, place); });
      rounds(cx_.math.add(whole.begin, begin), count, *run, nullptr);
      over_bank([&](const Place& place) { flush(*run, bank, stage, place); });
    });
  }

  void innermost(const Stage& stage, const Bank& bank, const std::vector<Reg>& shifts) {
    if (lanes_ != Lanes::kept_stretch) return accumulate(bank, stage, bank_place(), at_, shifts);
    over_stretch([&](const Place& place) {
      std::vector<Reg> own(shifts.size(), ir::kNone);
      for (size_t m = 0; m < own.size(); ++m)
        if (stage.monoids[m].shifted()) own[m] = cx_.b.local_load(shift_locals_[m], place.at, place.access);
      accumulate(bank, stage, place, at_, own);
    });
  }

  int64_t bank_extent() const {
    const int64_t lanes = cx_.b.lanes();
    return lanes_ == Lanes::kept_stretch ? round_up(stretch_, lanes) : lanes;
  }

  // Writes body for every place of a bank.
  void over_bank(const std::function<void(const Place&)>& body) {
    if (lanes_ == Lanes::kept_stretch) return over_stretch(body);
    if (lanes_ == Lanes::kept_vector) return body(bank_place());
    cx_.one_vector(cx_.literal(cx_.b.lanes()), Index{}, [&](const Index&) { body(bank_place()); });
  }

  // Loops over the reduced dims from `d` on, all of each, with their indices in at_.
  void over_domain(size_t d, const Do& body) {
    while (d < nest_.dims.size() && !nest_.dims[d].reduced) ++d;
    if (d == nest_.dims.size()) return body();
    const auto step = [&](const Index& i) {
      at_[d] = i;
      over_domain(d + 1, body);
    };
    const Extent count = extent_of(cx_, nest_.dims[d]);
    lanes_reduce() && d == inner() ? cx_.vectors(count, step) : cx_.serial(count, step);
  }

  // ---- stretches of the innermost kept dim ----

  void stretch_tile(const Index& tile) {
    const Stage& stage = stages_[0];
    if (!inner_is_dynamic()) set_outer_kept(at_, cx_.math.div(tile, stretches_));
    stretch_begin_ = cx_.math.scale(inner_is_dynamic() ? tile : cx_.math.mod(tile, stretches_), stretch_);
    stretch_count_ = cx_.least(stretch_, extent_of(cx_, nest_.dims.back()), stretch_begin_);
    const Bank bank = make_bank(stage, bank_extent());
    make_shift_locals(stage);
    reduce(stage, bank, std::vector<Reg>(stage.monoids.size(), ir::kNone));
    over_stretch([&](const Place& place) {
      std::vector<Parts> closed;
      for (size_t m = 0; m < stage.monoids.size(); ++m) {
        const Monoid& monoid = stage.monoids[m];
        const Reg shift = monoid.shifted() ? cx_.b.local_load(shift_locals_[m], place.at, place.access) : ir::kNone;
        closed.push_back(
            monoid.close(cx_.b, load(bank, m, place), shift, monoid.count(cx_.b, chunk_elements(chunk_at_))));
      }
      finish(stage, closed);
      if (!two_phases_) store_kept_outputs(at_);
    });
  }

  // Returns whether the innermost dim begins with the outermost axis of the domain: then there are no other kept dims.
  bool inner_is_dynamic() const { return nest_.dims.back().dynamic; }

  void make_shift_locals(const Stage& stage) {
    shift_locals_.assign(stage.monoids.size(), {});
    for (size_t m = 0; m < stage.monoids.size(); ++m)
      if (stage.monoids[m].shifted()) shift_locals_[m] = cx_.b.local(stage.monoids[m].part_type(0), bank_extent());
    over_stretch([&](const Place& place) {
      const std::vector<Reg> shifts = shifts_of(stage);
      for (size_t m = 0; m < shifts.size(); ++m)
        if (shifts[m] != ir::kNone) cx_.b.local_store(shift_locals_[m], place.at, place.access, shifts[m]);
    });
  }

  // Writes body for each vector of the stretch: at_ gets the kept index, body the place in a bank.
  void over_stretch(const std::function<void(const Place&)>& body) {
    cx_.vectors(stretch_count_, [&](const Index& i) {
      at_[inner()] = cx_.math.add(stretch_begin_, i);
      if (!nest_.dims.back().dynamic) cx_.math.promise(at_[inner()], nest_.dims.back().extent - 1);
      body(cx_.math.place(i));
    });
  }

  // ---- the second phase ----

  void second_phase() {
    const int64_t kept = nest_.kept_elements(), size = cx_.b.lanes();
    cx_.add_phase(ceil_div(kept, size), false, [&](const Index& tile) {
      const Index begin = cx_.math.scale(tile, size);
      cx_.vectors(cx_.least(size, cx_.literal(kept), begin), [&](const Index& i) {
        const Index position = cx_.math.add(begin, i);
        cx_.math.promise(position, kept - 1);
        merge_chunks(position);
      });
    });
  }

  int64_t per_tile_ = 1, vectors_ = 1, tiles_ = 1;
  int64_t stretch_ = 0, stretches_ = 1;
  Index stretch_begin_;
  Extent stretch_count_;
  std::vector<ir::Local> shift_locals_;
};

}  // namespace

Lowered lower_reduce_alone(const Graph& graph, const Group& group, const Target& target) {
  return ReduceAlone(graph, group, target).lower();
}

}  // namespace kb
