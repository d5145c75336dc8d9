// Lowers index_order, a stable sort of indices by counting. An index outside of the table is in a class of its own, the
// last. On a CPU each tile counts the indices of each class in a segment of the indices; then one tile adds the counts
// up, and each tile places the indices of its segment. There are so few segments that adding up takes less time than
// counting, and one if there are few indices for each class. Each block of a GPU finds the places of a few classes by
// itself: its threads count the indices of these classes, and all smaller ones, in a segment of the indices each, and
// walk through it once more to place them. So every block has the same work however the indices are distributed.
#include <algorithm>

#include "compiler/lower/classes.h"
#include "compiler/lower/expression.h"
#include "graph/rounding.h"

namespace kb {
namespace {

using ir::Reg;

constexpr int64_t kMostSegments = 64;  // most segments on a CPU
constexpr int64_t kLeastIndices = 4;   // indices for each class in a CPU's segment, if there are several segments
constexpr int64_t kBlockClasses = 32;  // classes of a block, with counters of 4 bytes for each of its threads
constexpr int64_t kCheckedAtOnce = 8;  // indices that a thread checks at once: most are of other blocks' classes

class Order {
 public:
  Order(const Graph& graph, const Group& group, const Target& target)
      : cx_(graph, group, target, "order"), expression_(cx_), node_(graph.node(group.outputs.at(0))) {
    ensure(node_.op == Op::index_order && group.outputs.size() == 2, "an order group is one index_order");
    rows_ = node_.attrs.integer("rows");
    order_ = cx_.output_buffer(group.outputs[0]);
    starts_ = cx_.output_buffer(group.outputs[1]);
    indices_ = graph.type(node_.inputs[0]).elements();
  }

  Lowered lower() {
    if (cx_.target.processor == Processor::cpu)
      count_and_place();
    else
      cx_.add_phase((rows_ + kBlockClasses) / kBlockClasses, false, [&](const Index& tile) { block(tile); });
    return cx_.finish();
  }

 private:
  // ---- registers ----

  Reg wide(Reg number) { return cx_.b.convert(DType::i64, number); }
  Reg narrow(Reg number) { return cx_.b.convert(DType::i32, number); }
  Reg next(Reg number) { return cx_.b.add(number, cx_.b.index(1)); }
  Reg indices() { return cx_.argument("indices", indices_); }

  // Returns the class of an index as i64: its row, or the number of rows if there is no such row.
  Reg class_of(const Index& position) {
    // As an unsigned number a negative index is greater than any row.
    const Reg raw = cx_.b.convert(DType::u32, expression_.value_at(node_.inputs[0], position));
    const Reg outside = cx_.b.convert(DType::u32, cx_.argument("rows", rows_));
    return wide(cx_.b.compute(Op::minimum, raw, outside));
  }

  void store_start(Reg row, Reg value) { cx_.store(starts_, cx_.math.of(row), narrow(value), false); }
  void place(Reg at, const Index& position) {
    cx_.store(order_, cx_.math.of(at), narrow(cx_.math.emit(position)), false);
  }

  Reg load(const ir::Local& local, Reg at) { return wide(cx_.b.local_load(local, at, ir::Access::uniform)); }
  void store(const ir::Local& local, Reg at, Reg value) {
    cx_.b.local_store(local, at, ir::Access::uniform, narrow(value));
  }
  // Adds to an element of a local array, and returns what it was.
  Reg advance(const ir::Local& local, Reg at, Reg by) {
    const Reg before = load(local, at);
    store(local, at, cx_.b.add(before, by));
    return before;
  }

  ir::Local zeroed() {
    const ir::Local number = cx_.b.local(DType::i32, 1);
    store(number, cx_.b.index(0), cx_.b.index(0));
    return number;
  }

  // ---- a CPU ----

  void count_and_place() {
    const int64_t classes = rows_ + 1;
    segments_ = std::clamp<int64_t>(indices_ / (kLeastIndices * classes), 1, kMostSegments);
    places_ = cx_.add_scratch(DType::i32, segments_ * classes);
    cx_.add_phase(segments_, true, [&](const Index& tile) {
      const Reg number = cx_.math.emit(tile);
      each_class([&](Reg row) { store_next(number, row, cx_.b.index(0)); });
      segment(number, [&](Reg at) { advance_next(number, class_of(cx_.math.of(at))); });
    });
    cx_.add_phase(1, false, [&](const Index&) { add_segments(); });
    cx_.add_phase(segments_, true, [&](const Index& tile) {
      const Reg number = cx_.math.emit(tile);
      segment(number, [&](Reg at) { place(advance_next(number, class_of(cx_.math.of(at))), cx_.math.of(at)); });
    });
  }

  void each_class(const std::function<void(Reg row)>& body) {
    cx_.serial(cx_.literal(rows_ + 1), [&](const Index& at) { body(cx_.math.emit(at)); });
  }

  // Writes body for the positions of a segment in their order.
  void segment(Reg number, const std::function<void(Reg at)>& body) {
    const Reg size = cx_.argument("segment", ceil_div(indices_, segments_)), begin = cx_.b.mul(number, size);
    cx_.b.loop(begin, cx_.b.min(cx_.b.add(begin, size), indices()), 1, body);
  }

  // The number of a segment's indices of each class becomes the place of the next of them.
  Index next_at(Reg number, Reg row) {
    return cx_.math.of(cx_.b.mul_add(number, next(cx_.argument("rows", rows_)), row));
  }
  void store_next(Reg number, Reg row, Reg value) { cx_.store(places_, next_at(number, row), narrow(value), false); }
  // Adds 1, and returns what it was.
  Reg advance_next(Reg number, Reg row) {
    const Reg before = wide(cx_.load(places_, next_at(number, row)));
    store_next(number, row, next(before));
    return before;
  }

  void add_segments() {
    const ir::Local sum = zeroed();
    const Reg zero = cx_.b.index(0);
    each_class([&](Reg row) {
      store_start(row, load(sum, zero));
      cx_.b.loop(zero, cx_.argument("segments", segments_), 1, [&](Reg number) {
        store_next(number, row, advance(sum, zero, wide(cx_.load(places_, next_at(number, row)))));
      });
    });
  }

  // ---- a GPU ----

  struct Own {
    Reg first, end;  // the block's classes
  };

  Reg is_own(const Own& own, Reg row) {
    return cx_.b.compute(Op::bit_and, cx_.b.less(cx_.b.sub(own.first, cx_.b.index(1)), row), cx_.b.less(row, own.end));
  }

  // Returns the place of a thread's counter of one of the block's classes.
  Reg counter(const Own& own, Reg thread, Reg row) {
    return cx_.b.mul_add(thread, cx_.b.index(kBlockClasses), cx_.b.sub(row, own.first));
  }

  // Writes body for the positions of a thread's segment in their order.
  void segment_of_thread(Reg thread, const std::function<void(Reg begin, int64_t count)>& body) {
    const int64_t threads = cx_.target.block_threads;
    const Reg size = cx_.argument("segment", ceil_div(indices_, threads));
    const Reg begin = cx_.b.min(cx_.b.mul(thread, size), indices()), end = cx_.b.min(cx_.b.add(begin, size), indices());
    const Reg whole = cx_.b.div(cx_.b.sub(end, begin), cx_.b.index(kCheckedAtOnce));
    cx_.b.loop(cx_.b.index(0), whole, 1,
               [&](Reg part) { body(cx_.b.mul_add(part, cx_.b.index(kCheckedAtOnce), begin), kCheckedAtOnce); });
    cx_.b.loop(cx_.b.mul_add(whole, cx_.b.index(kCheckedAtOnce), begin), end, 1, [&](Reg at) { body(at, 1); });
  }

  // Writes body for those positions of a thread's segment whose class is the block's own, after `all` for the classes
  // of several positions, these among them.
  void own_positions(const Own& own, Reg thread, const std::function<void(const Index&, Reg)>& body,
                     const std::function<void(const std::vector<Reg>&)>& all) {
    segment_of_thread(thread, [&](Reg begin, int64_t count) {
      std::vector<Reg> rows;
      Reg any = ir::kNone;
      for (int64_t i = 0; i < count; ++i) {
        rows.push_back(class_of(cx_.math.shift(cx_.math.of(begin), i)));
        const Reg holds = is_own(own, rows.back());
        any = any == ir::kNone ? holds : cx_.b.compute(Op::bit_or, any, holds);
      }
      all(rows);
      cx_.b.branch(any, [&] {
        cx_.serial(cx_.literal(count), [&](const Index& i) {
          const Index position = cx_.math.add(cx_.math.of(begin), i);
          const Reg row = class_of(position);
          cx_.b.branch(is_own(own, row), [&] { body(position, row); });
        });
      });
    });
  }

  void block(const Index& tile) {
    const int64_t threads = cx_.target.block_threads;
    const Reg first = cx_.math.emit(cx_.math.scale(tile, kBlockClasses));
    const Own own{first, cx_.b.add(first, cx_.b.index(kBlockClasses))};
    const auto in_block = [&](int64_t extent) { return cx_.b.local(DType::i32, extent, ir::Storage::block); };
    const ir::Local counts = in_block(threads * kBlockClasses), smaller = in_block(threads),
                    begins = in_block(kBlockClasses + 1);
    cx_.b.threads([&](Reg thread) { count(own, thread, counts, smaller); });
    cx_.b.barrier();
    cx_.b.threads([&](Reg thread) { add_threads(thread, counts, smaller, begins); });
    cx_.b.barrier();
    cx_.b.threads([&](Reg thread) { store_starts(own, thread, begins); });
    cx_.b.barrier();
    cx_.b.threads([&](Reg thread) {
      own_positions(
          own, thread,
          [&](const Index& position, Reg row) {
            const Reg before = advance(counts, counter(own, thread, row), cx_.b.index(1));
            place(cx_.b.add(load(begins, cx_.b.sub(row, own.first)), before), position);
          },
          [](const std::vector<Reg>&) {});
    });
  }

  // Counts the indices of the block's classes in the thread's segment, and those of all smaller classes together.
  void count(const Own& own, Reg thread, const ir::Local& counts, const ir::Local& smaller) {
    const Reg zero = cx_.b.index(0), one = cx_.b.index(1);
    cx_.serial(cx_.literal(kBlockClasses), [&](const Index& i) {
      store(counts, cx_.b.mul_add(thread, cx_.b.index(kBlockClasses), cx_.math.emit(i)), zero);
    });
    const ir::Local sum = zeroed();
    own_positions(
        own, thread, [&](const Index&, Reg row) { advance(counts, counter(own, thread, row), one); },
        [&](const std::vector<Reg>& rows) {
          Reg found = zero;
          for (const Reg row : rows)
            found = cx_.b.add(found, cx_.b.compute(Op::select, cx_.b.less(row, own.first), one, zero));
          advance(sum, zero, found);
        });
    store(smaller, thread, load(sum, zero));
  }

  // Makes each thread's count of a class the number of such indices in the segments before its own. The sums over all
  // threads go to `begins`: of smaller indices first, then of each class.
  void add_threads(Reg thread, const ir::Local& counts, const ir::Local& smaller, const ir::Local& begins) {
    const Reg zero = cx_.b.index(0), classes = cx_.b.index(kBlockClasses);
    const auto over_threads = [&](Reg to, const std::function<void(const ir::Local& sum, Reg other)>& body) {
      const ir::Local sum = zeroed();
      cx_.serial(cx_.literal(cx_.target.block_threads), [&](const Index& other) { body(sum, cx_.math.emit(other)); });
      store(begins, to, load(sum, zero));
    };
    cx_.b.branch(cx_.b.less(thread, classes), [&] {
      over_threads(next(thread), [&](const ir::Local& sum, Reg other) {
        const Reg at = cx_.b.mul_add(other, classes, thread), own = load(counts, at);
        store(counts, at, advance(sum, zero, own));
      });
    });
    const Reg is_next = cx_.b.compute(Op::bit_and, cx_.b.less(cx_.b.sub(classes, cx_.b.index(1)), thread),
                                      cx_.b.less(thread, next(classes)));
    cx_.b.branch(is_next, [&] {
      over_threads(zero, [&](const ir::Local& sum, Reg other) { advance(sum, zero, load(smaller, other)); });
    });
  }

  // Stores the starts of the block's classes, and leaves them in `begins`.
  void store_starts(const Own& own, Reg thread, const ir::Local& begins) {
    cx_.b.branch(cx_.b.less(thread, cx_.b.index(1)), [&] {
      cx_.serial(cx_.literal(kBlockClasses), [&](const Index& i) {
        const Reg at = cx_.math.emit(i), row = cx_.b.add(own.first, at), begin = load(begins, at);
        store(begins, next(at), cx_.b.add(begin, load(begins, next(at))));
        cx_.b.branch(cx_.b.less(row, next(cx_.argument("rows", rows_))), [&] { store_start(row, begin); });
      });
    });
  }

  Context cx_;
  Expression expression_;
  const Node& node_;
  int64_t rows_ = 0, indices_ = 0;
  int32_t order_ = -1, starts_ = -1;
  int64_t segments_ = 1;  // number of segments on a CPU
  int32_t places_ = -1;
};

}  // namespace

Lowered lower_order(const Graph& graph, const Group& group, const Target& target) {
  return Order(graph, group, target).lower();
}

}  // namespace kb
