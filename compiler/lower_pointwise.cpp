// Point-wise groups, and windows and copies, which are point-wise over their results. The domain is cut along its
// leading dimensions into tiles of about Target::tile_elements; inside a tile the last dimension goes by lanes. Where
// it fits one vector the lane loop is the outermost, so that what differs only along it (per channel, in a blocked
// layout) is computed once a tile.
#include <algorithm>

#include "compiler/lower_classes.h"
#include "compiler/lower_nest.h"

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
  static void visit(Context& cx, Expression& expression, const Indices& at) {
    std::vector<std::pair<Value, Indices>> values;
    for (const Value v : cx.group.outputs) values.emplace_back(v, at);
    expression.store(values);
  }

  static constexpr int64_t kPlane = 8;  // times Target::tile_elements: a plane of more is cut

  bool lane_is_outermost() const {
    return cx_.target.processor == Processor::cpu && nest_.dims.size() > 1 && nest_.dims.back().extent <= cx_.b.lanes();
  }
  size_t last() const { return nest_.dims.size() - 1; }

  // Dims behind `split_` lie in a tile whole, `split_` is cut into chunks, a tile has one index of those before.
  void choose_split() {
    int64_t inner = 1, elements = cx_.target.tile_elements;
    split_ = last();
    if (lane_is_outermost()) {
      // One index of the dims before the last two a tile, however small: one text then serves planes of all sizes.
      inner = nest_.dims[split_--].extent;
      elements *= nest_.dims[split_].dynamic ? 1 : kPlane;
    } else {
      while (split_ > 0 && inner * nest_.dims[split_].extent <= elements) inner *= nest_.dims[split_--].extent;
    }
    const Dim& dim = nest_.dims[split_];
    const int64_t most = std::max<int64_t>(elements / inner, 1);
    const int64_t unit = split_ == last() ? cx_.b.lanes() : 1;
    chunk_ = dim.dynamic ? std::max(most / unit * unit, unit) : Context::chunk_of(dim.extent, most, unit);
    pieces_ = (dim.extent + chunk_ - 1) / chunk_;
    tiles_ = pieces_;
    for (size_t d = 0; d < split_; ++d) tiles_ *= nest_.dims[d].extent;
  }

  void lower_tile(const Index& tile) {
    Dims shape;
    for (size_t d = 0; d < split_; ++d) shape.push_back(nest_.dims[d].extent);
    shape.push_back(pieces_);
    at_ = split_ == 0 ? Indices{tile} : cx_.math.unflatten(tile, shape);
    at_.resize(nest_.dims.size());
    begin_ = cx_.math.scale(at_[split_], chunk_);
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

  // GPU: the vectors of the tile are dealt to the threads, neighbours to neighbours.
  void block() {
    const int64_t lanes = cx_.b.lanes();
    Dims inner;  // extents behind split_, the last in vectors
    for (size_t d = split_ + 1; d < nest_.dims.size(); ++d) inner.push_back(nest_.dims[d].extent);
    if (!inner.empty()) inner.back() = (inner.back() + lanes - 1) / lanes;
    const Reg outer = inner.empty() ? cx_.b.div(cx_.b.add(cx_.reg(count_), cx_.b.index(lanes - 1)), cx_.b.index(lanes))
                                    : cx_.b.mul(cx_.reg(count_), cx_.b.index(element_count(inner)));
    int64_t literal = 0;
    const Extent vectors = cx_.b.literal(outer, &literal) ? cx_.literal(literal) : Extent{0, outer, 1};
    const int64_t most = inner.empty() ? (chunk_ + lanes - 1) / lanes : chunk_ * element_count(inner);
    cx_.shared(vectors, most, [&](const Index& vector) {
      Dims shape = inner;
      shape.insert(shape.begin(), inner.empty() ? most : chunk_);
      const Indices own = cx_.math.unflatten(vector, shape);
      for (size_t d = split_; d < last(); ++d) at_[d] = position(d, own[d - split_]);
      const Index first = cx_.math.scale(own.back(), lanes);
      cx_.one_vector(cx_.least(lanes, count(last()), first), first, [&](const Index& at) {
        at_[last()] = position(last(), at);
        point(at_);
      });
    });
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
