// Lowers point-wise groups, and windows, copies and carries, which are point-wise over their results. The domain is cut
// along its leading dimensions into tiles of about Target::tile_elements; inside a tile the last dimension goes by
// lanes. If that fits one vector, a CPU's lane loop is the outermost, so that what differs only along it (per channel,
// in a blocked layout) is computed once a tile.
#include <algorithm>

#include "compiler/lower/classes.h"
#include "compiler/lower/nest.h"
#include "graph/rounding.h"

namespace kb {
namespace {

using ir::Reg;

class Pointwise {
 public:
  Pointwise(const Graph& graph, const Group& group, const Target& target)
      : cx_(graph, group, target, std::string(name(group.cls))), expression_(cx_), nest_(make_nest(cx_, visit)) {}

  Lowered lower() {
    if (nest_.dims.empty()) {
      cx_.add_phase(1, false, [&](const Index&) { cx_.shared(cx_.literal(1), 1, [&](const Index&) { point({}); }); });
      return cx_.finish();
    }
    choose_split();
    cx_.add_phase(tiles_, nest_.dims[0].dynamic, [&](const Index& tile) { lower_tile(tile); });
    return cx_.finish();
  }

 private:
  static void visit(Context& cx, Expression& expression, const Indices& at) { expression.store(cx.group.outputs, at); }

  // The last two axes are cut if they have more than this times Target::tile_elements elements.
  static constexpr int64_t kPlane = 8;
  static constexpr int64_t kBlocks = 6;  // least tiles for each multiprocessor of a GPU, if there is enough to do

  bool lane_is_outermost() const {
    return cx_.target.processor == Processor::cpu && nest_.dims.size() > 1 && nest_.dims.back().extent <= cx_.b.lanes();
  }
  size_t last() const { return nest_.dims.size() - 1; }

  // Chooses the dim `split_`, which is cut into chunks. A tile has one index of the dims before it, all of those after.
  void choose_split() {
    int64_t inner = 1, elements = cx_.target.tile_elements;
    split_ = last();
    if (lane_is_outermost()) {
      // A tile has one index of the dims before the last two, so that one text serves planes of all sizes.
      inner = nest_.dims[split_--].extent;
      elements *= nest_.dims[split_].dynamic ? 1 : kPlane;
    } else {
      while (split_ > 0 && inner * nest_.dims[split_].extent <= elements) inner *= nest_.dims[split_--].extent;
    }
    const Dim& dim = nest_.dims[split_];
    const int64_t most = std::max<int64_t>(elements / inner, 1);
    const int64_t unit = split_ == last() ? cx_.b.lanes() : 1;
    chunk_ = dim.dynamic ? std::max(most / unit * unit, unit) : Context::chunk_of(dim.extent, most, unit);
    if (chunk_is_argument()) chunk_ = gpu_chunk(inner, unit);
    pieces_ = ceil_div(dim.extent, chunk_);
    tiles_ = pieces_;
    for (size_t d = 0; d < split_; ++d) tiles_ *= nest_.dims[d].extent;
  }

  // On a GPU a chunk of the dynamic dim is an argument: so many elements that all multiprocessors have several blocks,
  // and a thread several vectors.
  bool chunk_is_argument() const {
    return cx_.target.processor == Processor::gpu && split_ == 0 && nest_.dims[0].dynamic;
  }
  int64_t gpu_chunk(int64_t inner, int64_t unit) const {
    const int64_t share = nest_.dims[0].extent * inner / (kBlocks * cx_.target.processors);
    const int64_t elements = std::clamp(share, cx_.target.tile_elements / 4, 2 * cx_.target.tile_elements);
    return std::max(elements / inner / unit * unit, unit);
  }

  void lower_tile(const Index& tile) {
    if (chunk_is_argument()) {
      const int64_t unit = last() == 0 ? cx_.b.lanes() : 1;
      const Reg chunk = cx_.argument("chunk", chunk_), begin = cx_.b.mul(cx_.math.emit(tile), chunk);
      const Extent whole = extent_of(cx_, nest_.dims[0]);
      at_.resize(nest_.dims.size());
      begin_ = cx_.math.of(begin, IndexMath::kUnbounded, unit);
      count_ = {0, cx_.b.min(chunk, cx_.b.sub(whole.reg, begin)), whole.multiple % unit == 0 ? unit : 1};
      return block();
    }
    Dims shape;
    for (size_t d = 0; d < split_; ++d) shape.push_back(nest_.dims[d].extent);
    shape.push_back(pieces_);
    at_ = split_ == 0 ? Indices{tile} : cx_.math.unflatten(tile, shape);
    at_.resize(nest_.dims.size());
    begin_ = split_ == last() ? cx_.math.scale(at_[split_], chunk_) : cx_.first_of_tile(at_[split_], chunk_);
    count_ = cx_.least(chunk_, extent_of(cx_, nest_.dims[split_]), begin_);
    if (cx_.target.processor == Processor::gpu) return block();
    if (lane_is_outermost())
      return cx_.one_vector(count(last()), Index{}, [&](const Index& at) {
        at_[last()] = position(last(), at);
        outer_loops(split_, [&] { point(at_); });
      });
    outer_loops(split_, [&] {
      cx_.vectors(count(last()), [&](const Index& at) {
        at_[last()] = position(last(), at);
        point(at_);
      });
    });
  }

  // Deals the vectors of a GPU's tile to the threads, neighbours to neighbours. If the number of vectors in a row
  // divides that of the threads, a thread stays in its columns, and what differs along the last dimension alone is
  // computed once.
  void block() {
    const int64_t lanes = cx_.b.lanes(), threads = cx_.target.block_threads;
    Dims inner;  // extents of the dims after split_, the last in vectors
    for (size_t d = split_ + 1; d < nest_.dims.size(); ++d) inner.push_back(nest_.dims[d].extent);
    if (inner.empty()) return flat_block();
    const bool whole = inner.back() % lanes == 0;
    inner.back() = ceil_div(inner.back(), lanes);
    if (whole && threads % inner.back() == 0) return columns_block(inner);
    const int64_t most = chunk_is_argument() ? IndexMath::kUnbounded : chunk_ * element_count(inner);
    Dims shape = inner;
    shape.insert(shape.begin(), chunk_);
    cx_.shared(times(count_, element_count(inner)), most, [&](const Index& vector) {
      const Indices own = cx_.math.unflatten(vector, shape);
      set_rows(own);
      one_vector(own.back());
    });
  }

  // Deals the vectors of a tile that is a chunk of the last dim.
  void flat_block() {
    const int64_t lanes = cx_.b.lanes();
    const Reg vectors = cx_.b.div(cx_.b.add(cx_.reg(count_), cx_.b.index(lanes - 1)), cx_.b.index(lanes));
    const int64_t most = chunk_is_argument() ? IndexMath::kUnbounded : ceil_div(chunk_, lanes);
    cx_.shared(as_extent(vectors), most, [&](const Index& vector) { one_vector(vector); });
  }

  // Computes a vector of the last dim, by its number in the tile.
  void one_vector(const Index& vector) {
    const Index first = cx_.math.scale(vector, cx_.b.lanes());
    cx_.one_vector(cx_.least(cx_.b.lanes(), count(last()), first), first, [&](const Index& at) {
      at_[last()] = position(last(), at);
      point(at_);
    });
  }

  // Deals a tile with fixed columns for each thread. An argument counts them, so that rows of all lengths share one
  // text.
  void columns_block(const Dims& inner) {
    const int64_t threads = cx_.target.block_threads, lanes = cx_.b.lanes();
    Dims shape(inner.begin(), inner.end() - 1);
    const int64_t rows = element_count(shape);
    shape.insert(shape.begin(), chunk_);
    const Extent all = times(count_, rows);
    const Reg columns = cx_.argument("columns", inner.back()), groups = cx_.argument("groups", threads / inner.back());
    cx_.b.threads([&](Reg thread) {
      const Reg begin = cx_.b.mul(cx_.b.mod(thread, columns), cx_.b.index(lanes)), who = cx_.b.div(thread, columns);
      const Index first = cx_.math.of(begin, inner.back() * lanes - lanes, lanes);
      const Reg rounds = cx_.b.div(cx_.b.sub(cx_.b.add(cx_.reg(all), cx_.b.sub(groups, cx_.b.index(1))), who), groups);
      cx_.one_vector(cx_.literal(lanes), first, [&](const Index& at) {
        at_[last()] = position(last(), at);
        cx_.b.loop(cx_.b.index(0), rounds, 1, [&](Reg round) {
          set_rows(cx_.math.unflatten(cx_.math.of(cx_.b.mul_add(round, groups, who)), shape));
          point(at_);
        });
      });
    });
  }

  // Sets the indices of the dims from split_ on, except the last.
  void set_rows(const Indices& own) {
    for (size_t d = split_; d < last(); ++d) at_[d] = position(d, own[d - split_]);
  }
  Extent as_extent(Reg count) const {
    const std::optional<int64_t> known = cx_.b.literal(count);
    return known ? cx_.literal(*known) : Extent{0, count, 1};
  }
  Extent times(const Extent& extent, int64_t factor) {
    return as_extent(cx_.b.mul(cx_.reg(extent), cx_.b.index(factor)));
  }

  Extent count(size_t d) { return d == split_ ? count_ : cx_.literal(nest_.dims[d].extent); }
  Index position(size_t d, const Index& at) {
    if (d != split_) return at;
    const Index position = cx_.math.add(begin_, at);
    if (!nest_.dims[d].dynamic) cx_.math.promise(position, nest_.dims[d].extent - 1);
    return position;
  }

  void outer_loops(size_t d, const std::function<void()>& body) {
    if (d >= last()) return body();
    cx_.serial(count(d), [&](const Index& at) {
      at_[d] = position(d, at);
      outer_loops(d + 1, body);
    });
  }

  void point(const Indices& at) { visit(cx_, expression_, nest_.domain_index(cx_.math, at)); }

  Context cx_;
  Expression expression_;
  Nest nest_;
  size_t split_ = 0;
  int64_t chunk_ = 1, pieces_ = 1, tiles_ = 1;
  Indices at_;
  Index begin_;
  Extent count_;
};

}  // namespace

Lowered lower_pointwise(const Graph& graph, const Group& group, const Target& target) {
  return Pointwise(graph, group, target).lower();
}

}  // namespace kb
