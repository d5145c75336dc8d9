#include "compiler/lower/reduce.h"

#include <algorithm>

#include "compiler/lower/classes.h"
#include "compiler/lower/emit.h"
#include "compiler/views.h"
#include "graph/rounding.h"

namespace kb {

using ir::Reg;

namespace {

bool is_reduction(const Graph& graph, int32_t node) { return info(graph.node(node).op).cls == OpClass::reduction; }

// Returns whether an output has an element for each one of the domain.
bool is_full(const Graph& graph, const Group& group, Value v) {
  return domain_of(graph, v) == group.domain && !is_reduction(graph, v.node);
}

// Returns what belongs to the axes of a reduction's result: an index or extent of each domain axis that is not reduced.
template <class T>
std::vector<T> of_kept_axes(const Group& group, const std::vector<T>& of_axes) {
  std::vector<T> kept;
  for (size_t axis = 0; axis < of_axes.size(); ++axis)
    if (std::find(group.axes.begin(), group.axes.end(), axis) == group.axes.end()) kept.push_back(of_axes[axis]);
  return kept;
}

// Returns the indices of the kept element `kept` in a value of `shape` that has one element for each kept element.
Indices spread_kept(IndexMath& math, const Dims& shape, const Indices& kept, const Dims& kept_shape) {
  return math.unflatten(math.flatten(kept, kept_shape), shape);
}

}  // namespace

Reduce::Reduce(const Graph& graph, const Group& group, const Target& target)
    : cx_(graph, group, target, std::string(name(group.cls))), expression_(cx_), nest_(make_nest(cx_, visit)) {
  if (nest_.dims.empty() || nest_.reduced_elements() == 1)
    nest_.dims.insert(nest_.dims.begin(), {.extent = 1, .reduced = true, .axes = {}});
  for (const Value v : group.outputs) (is_full(graph, group, v) ? full_outputs_ : kept_outputs_).push_back(v);
  find_stages();
  choose_lanes();
}

// Lowers one point for make_nest: the inputs of all reductions, then whatever is computed from their results.
void Reduce::visit(Context& cx, Expression& expression, const Indices& at) {
  const Graph& graph = cx.graph;
  const Indices kept = of_kept_axes(cx.group, at);
  for (const int32_t n : cx.group.nodes) {
    if (!is_reduction(graph, n)) continue;
    const Node& node = graph.node(n);
    expression.value(node.inputs[0], at);
    if (node.op == Op::argmax) cx.note(at[static_cast<size_t>(node.attrs.integer("axis"))], true);
    for (int32_t out = 0; out < static_cast<int32_t>(node.outputs.size()); ++out)
      expression.bind({n, out}, kept, emit_number(cx.b, node.type(out).dtype, 0));
  }
  std::vector<std::pair<Value, Indices>> values;
  for (const Value v : cx.group.outputs) {
    values.emplace_back(v, is_full(graph, cx.group, v) ? at
                                                       : spread_kept(cx.math, graph.type(v).shape, kept,
                                                                     of_kept_axes(cx.group, cx.group.domain)));
  }
  expression.store(values);
}

// Puts each reduction into the stage after the last of those that it depends on.
void Reduce::find_stages() {
  std::map<int32_t, size_t> ready;  // the first stage in which each node can be read
  for (const int32_t n : cx_.group.nodes) {
    size_t stage = 0;
    for (const Value input : cx_.graph.node(n).inputs) {
      if (cx_.input_buffer(input) >= 0) continue;
      if (const auto found = ready.find(input.node); found != ready.end()) stage = std::max(stage, found->second);
    }
    ready[n] = is_reduction(cx_.graph, n) ? stage + 1 : stage;
    if (!is_reduction(cx_.graph, n)) continue;
    if (stages_.size() <= stage) stages_.resize(stage + 1);
    stages_[stage].monoids.emplace_back(cx_.graph, n);
  }
  ensure(!stages_.empty(), "a reduction group without a reduction");
  one_pass_ = stages_.size() == 1 && !full_outputs_.empty() &&
              std::none_of(full_outputs_.begin(), full_outputs_.end(), [&](Value v) { return ready.at(v.node) > 0; });
}

bool Reduce::has_several_passes() const { return stages_.size() > 1 || (!full_outputs_.empty() && !one_pass_); }

void Reduce::choose_lanes() {
  const bool several = has_several_passes();
  const Dim& last = nest_.dims.back();
  if (last.reduced)
    lanes_ = Lanes::reduced;
  else
    lanes_ = several || (!last.dynamic && last.extent <= cx_.b.lanes()) ? Lanes::kept_vector : Lanes::kept_stretch;
  // Partials are worth their second phase if tiles of the kept dims alone would be too few.
  int64_t kept_tiles = 1;
  for (const int64_t extent : outer_kept()) kept_tiles *= extent;
  const int64_t stretches = lanes_ == Lanes::reduced ? 1 : ceil_div(last.extent, kStretch);
  if (is_gpu() && !shares_results()) {
    if (!last.reduced) lanes_ = Lanes::kept_vector;
    return;
  }
  two_phases_ = !several && nest_.dims[0].reduced && nest_.dims[0].extent > 1 &&
                kept_tiles * stretches < cx_.target.max_partials / 2;
}

// Returns true for long rows and for columns, on which the threads of a block work together; a short row, or a vector
// of kept elements with several stages, is one thread's. A product is the work of a block in any case.
bool Reduce::shares_results() const {
  if (cx_.group.product >= 0) return true;
  const bool several = has_several_passes();
  int64_t elements = 1;
  bool unknown = false;
  for (const Dim& dim : nest_.dims) {
    if (!dim.reduced) continue;
    unknown |= dim.dynamic;
    elements *= dim.extent;
  }
  const int64_t worth = lanes_reduce() ? cx_.target.block_threads / 2 : 1;
  return fits_shared() && (unknown || elements > worth) && (lanes_reduce() || !several);
}

// Returns whether block storage has room for a vector of all parts for half of the threads, a number of elements for
// each thread, and a flag whether the block is the last.
bool Reduce::fits_shared() const {
  int64_t bytes = size_of(DType::i64) * (cx_.target.block_threads + 1);
  for (const Stage& stage : stages_)
    for (const Monoid& monoid : stage.monoids) bytes += monoid.bytes() * cx_.b.lanes() * cx_.target.block_threads / 2;
  return bytes <= cx_.target.shared_bytes;
}

Dims Reduce::outer_kept() const {
  Dims extents;
  for (size_t d = 0; d < nest_.dims.size(); ++d)
    if (!nest_.dims[d].reduced && (lanes_reduce() || d != inner())) extents.push_back(nest_.dims[d].extent);
  return extents;
}

void Reduce::set_outer_kept(Indices& at, const Index& item) {
  const Indices kept = cx_.math.unflatten(item, outer_kept());
  size_t next = 0;
  for (size_t d = 0; d < nest_.dims.size(); ++d)
    if (!nest_.dims[d].reduced && (lanes_reduce() || d != inner())) at[d] = kept[next++];
}

int64_t Reduce::outer_items() const { return element_count(outer_kept()); }

bool Reduce::kept_is_dynamic() const {
  return std::any_of(nest_.dims.begin(), nest_.dims.end(), [](const Dim& dim) { return !dim.reduced && dim.dynamic; });
}

void Reduce::choose_chunks(int64_t work, int64_t most) {
  if (!two_phases_) return;
  const Dim& dim = nest_.dims[0];
  const int64_t unit = lanes_reduce() && inner() == 0 ? cx_.b.lanes() : 1;
  const int64_t least = std::max<int64_t>(cx_.target.tile_elements / std::max<int64_t>(work, 1), 1);
  chunk_ = std::max(ceil_div(dim.extent, most), least);
  chunk_ = round_up(chunk_, unit);
  chunks_ = ceil_div(dim.extent, chunk_);
}

// Returns the first index and the length of the part of dims[d] that a chunk covers; only dims[0] is ever cut.
Reduce::Range Reduce::range(size_t d, const Index& chunk) {
  const Extent whole = extent_of(cx_, nest_.dims[d]);
  if (!two_phases_ || d != 0) return {Index{}, whole};
  const Reg size = cx_.argument("chunk", chunk_), begin = cx_.b.mul(cx_.math.emit(chunk), size);
  const Reg count = cx_.b.min(size, cx_.b.sub(cx_.reg(whole), begin));
  const bool even = lanes_reduce() && inner() == 0 && whole.multiple % cx_.b.lanes() == 0;
  const int64_t multiple = lanes_reduce() && inner() == 0 ? cx_.b.lanes() : 1;
  return {cx_.math.of(begin, IndexMath::kUnbounded, multiple), {0, count, even ? cx_.b.lanes() : 1}};
}

// ---- accumulators ----

Reduce::Bank Reduce::make_bank(const Stage& stage, int64_t extent, ir::Storage storage) {
  Bank bank;
  for (const Monoid& monoid : stage.monoids) {
    bank.emplace_back();
    for (size_t part = 0; part < monoid.parts(); ++part)
      bank.back().push_back(cx_.b.local(monoid.part_type(part), extent, storage));
  }
  return bank;
}

Parts Reduce::load(const Bank& bank, size_t monoid, const Place& place) {
  Parts parts;
  for (const ir::Local& local : bank[monoid])
    parts.push_back(cx_.b.local_load(local, place.at, place.access, place.aligned));
  return parts;
}

void Reduce::store(const Bank& bank, size_t monoid, const Place& place, const Parts& parts) {
  for (size_t i = 0; i < parts.size(); ++i)
    cx_.b.local_store(bank[monoid][i], place.at, place.access, parts[i], place.aligned);
}

void Reduce::initialise(const Bank& bank, const Stage& stage, const Place& place) {
  for (size_t m = 0; m < stage.monoids.size(); ++m) store(bank, m, place, stage.monoids[m].initial(cx_.b));
}

void Reduce::flush(const Bank& from, const Bank& to, const Stage& stage, const Place& place) {
  for (size_t m = 0; m < stage.monoids.size(); ++m)
    store(to, m, place, stage.monoids[m].combine(cx_.b, load(to, m, place), load(from, m, place)));
}

Reg Reduce::element(const Monoid& monoid, const Indices& at) {
  return expression_.value(monoid.input(), nest_.domain_index(cx_.math, at));
}

void Reduce::accumulate(const Bank& bank, const Stage& stage, const Place& place, const Indices& at,
                        const std::vector<Reg>& shifts) {
  for (size_t m = 0; m < stage.monoids.size(); ++m) {
    const Monoid& monoid = stage.monoids[m];
    Reg other = shifts[m];
    if (monoid.index_axis() >= 0) {
      const Indices domain_at = nest_.domain_index(cx_.math, at);
      other = cx_.b.convert(DType::i32, cx_.math.emit(domain_at[static_cast<size_t>(monoid.index_axis())]));
    }
    store(bank, m, place, monoid.step(cx_.b, load(bank, m, place), element(monoid, at), other));
  }
  if (one_pass_) store_full_outputs(at);
}

Parts Reduce::fold(const Monoid& monoid, const std::vector<ir::Local>& locals) {
  std::vector<Parts> lanes(static_cast<size_t>(cx_.b.lanes()));
  for (size_t l = 0; l < lanes.size(); ++l)
    for (const ir::Local& local : locals)
      lanes[l].push_back(cx_.b.local_load(local, cx_.b.index(static_cast<int64_t>(l)), ir::Access::uniform));
  for (size_t half = lanes.size() / 2; half > 0; half /= 2)
    for (size_t l = 0; l < half; ++l) lanes[l] = monoid.combine(cx_.b, lanes[l], lanes[l + half]);
  return lanes[0];
}

std::vector<Reg> Reduce::shifts_of(const Stage& stage) {
  const Indices first = first_of_chunk();
  std::vector<Reg> shifts(stage.monoids.size(), ir::kNone);
  for (size_t m = 0; m < shifts.size(); ++m)
    if (stage.monoids[m].shifted()) shifts[m] = element(stage.monoids[m], first);
  return shifts;
}

Indices Reduce::first_of_chunk() {
  Indices first = at_;
  for (size_t d = 0; d < first.size(); ++d)
    if (nest_.dims[d].reduced) first[d] = range(d, chunk_at_).begin;
  return first;
}

// ---- results ----

void Reduce::bind_results(const Stage& stage, const std::vector<Parts>& merged, const Indices& at) {
  const Indices kept = of_kept_axes(cx_.group, nest_.domain_index(cx_.math, at));
  for (size_t m = 0; m < stage.monoids.size(); ++m) {
    const Monoid& monoid = stage.monoids[m];
    const Parts results = monoid.finish(cx_.b, merged[m], monoid.count(cx_.b, reduced_count()));
    for (size_t out = 0; out < results.size(); ++out)
      expression_.bind({monoid.node(), static_cast<int32_t>(out)}, kept, results[out]);
  }
}

void Reduce::store_kept_outputs(const Indices& at) {
  const Indices kept = of_kept_axes(cx_.group, nest_.domain_index(cx_.math, at));
  const Dims kept_shape = of_kept_axes(cx_.group, cx_.group.domain);
  std::vector<std::pair<Value, Indices>> values;
  for (const Value v : kept_outputs_)
    values.emplace_back(v, spread_kept(cx_.math, cx_.graph.type(v).shape, kept, kept_shape));
  expression_.store(values);
}

void Reduce::store_full_outputs(const Indices& at) {
  expression_.store(full_outputs_, nest_.domain_index(cx_.math, at));
}

Reg Reduce::reduced_count() {
  Reg count = cx_.b.index(1);
  for (const Dim& dim : nest_.dims)
    if (dim.reduced) count = cx_.b.mul(count, cx_.reg(extent_of(cx_, dim)));
  return count;
}

// Returns the number of elements that one result has in one chunk.
Reg Reduce::chunk_elements(const Index& chunk) {
  Reg count = cx_.b.index(1);
  for (size_t d = 0; d < nest_.dims.size(); ++d)
    if (nest_.dims[d].reduced) count = cx_.b.mul(count, cx_.reg(range(d, chunk).count));
  return count;
}

// ---- two phases ----

void Reduce::make_partials() {
  if (!two_phases_) return;
  for (const Monoid& monoid : stages_[0].monoids) {
    partials_.emplace_back();
    for (size_t part = 0; part < monoid.parts(); ++part)
      partials_.back().push_back(cx_.add_scratch(monoid.part_type(part), chunks_ * nest_.kept_elements()));
  }
}

Index Reduce::partial_position(const Index& chunk, const Index& kept) {
  return cx_.math.add(cx_.math.scale(chunk, nest_.kept_elements()), kept);
}

void Reduce::store_partial(size_t monoid, const Parts& closed, const Index& chunk, const Indices& at) {
  const Index position = partial_position(chunk, nest_.kept_position(cx_.math, at));
  for (size_t part = 0; part < closed.size(); ++part) cx_.store(partials_[monoid][part], position, closed[part], false);
}

Parts Reduce::partial(size_t monoid, const Index& chunk, const Index& kept) {
  Parts parts;
  for (const int32_t buffer : partials_[monoid]) parts.push_back(cx_.load(buffer, partial_position(chunk, kept)));
  return parts;
}

void Reduce::merge_into(const Bank& bank, const Stage& stage, const Place& place, const std::vector<Parts>& right,
                        Reg left_count, Reg right_count) {
  for (size_t m = 0; m < stage.monoids.size(); ++m) {
    const Monoid& monoid = stage.monoids[m];
    store(bank, m, place,
          monoid.merge(cx_.b, load(bank, m, place), right[m], monoid.count(cx_.b, left_count),
                       monoid.count(cx_.b, right_count)));
  }
}

void Reduce::merge_chunks(const Index& position) {
  const Stage& stage = stages_[0];
  const auto parts_of = [&](const Index& chunk) {
    std::vector<Parts> parts;
    for (size_t m = 0; m < stage.monoids.size(); ++m) parts.push_back(partial(m, chunk, position));
    return parts;
  };
  const Place place = bank_place();
  const Bank bank = make_bank(stage, cx_.b.lanes());
  const std::vector<Parts> first = parts_of(Index{});
  for (size_t m = 0; m < first.size(); ++m) store(bank, m, place, first[m]);
  const Reg chunks = cx_.argument("chunks", chunks_), full = chunk_elements(Index{});
  cx_.b.loop(cx_.b.index(1), chunks, 1, [&](Reg number) {
    const Index chunk = cx_.math.of(number);
    const Reg before = cx_.b.mul(number, full), own = chunk_elements(chunk);
    merge_into(bank, stage, place, parts_of(chunk), before, own);
  });
  std::vector<Parts> merged;
  for (size_t m = 0; m < stage.monoids.size(); ++m) merged.push_back(load(bank, m, place));
  Dims kept_extents;
  for (const Dim& dim : nest_.dims)
    if (!dim.reduced) kept_extents.push_back(dim.extent);
  const Indices kept = cx_.math.unflatten(position, kept_extents);
  Indices at(nest_.dims.size());
  size_t next = 0;
  for (size_t d = 0; d < nest_.dims.size(); ++d)
    if (!nest_.dims[d].reduced) at[d] = kept[next++];
  bind_results(stage, merged, at);
  store_kept_outputs(at);
}

// Returns the place of one element's parts in a bank that is one vector long.
Place Reduce::bank_place() {
  return {cx_.b.in_lanes() ? ir::Access::contiguous : ir::Access::uniform, cx_.b.index(0), true};
}

Lowered lower_reduce(const Graph& graph, const Group& group, const Target& target) {
  if (target.processor == Processor::gpu) return lower_reduce_gpu(graph, group, target);
  return lower_reduce_alone(graph, group, target);
}

}  // namespace kb
