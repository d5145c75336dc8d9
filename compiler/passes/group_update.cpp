#include "compiler/passes/group_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/passes/matrices.h"
#include "compiler/passes/nodes.h"
#include "compiler/passes/rule_probe.h"
#include "graph/functions.h"
#include "graph/report.h"
#include "graph/rounding.h"

namespace kb {
namespace {

class GroupUpdate {
 public:
  GroupUpdate(const SharedUpdate& shared, const ParameterGroup& group, int32_t number)
      : shared_(shared),
        space_(shared.space),
        graph_(shared.gradient.graph()),
        rule_(group.rule),
        segments_(space_.segments_of(number)),
        range_(space_.range_of(number)),
        prefix_(shared.several && !group.name.empty() ? group.name + "." : ""),
        report_prefix_(shared.several ? group.name + "." : "") {}

  Value run() {
    UpdateContext context;
    context.gradient = part(shared_.gradient);
    context.parameter = part(shared_.parameters);
    context.decay = [this] { return multiplier("decay", [](const Segment& s) { return s.decay ? 1.0 : 0.0; }); };
    context.adapt = [this] { return multiplier("adapt", [](const Segment& s) { return s.adapt ? 1.0 : 0.0; }); };
    context.decoupled_decay = !has_rates() ? context.decay : [this] {
      return multiplier("decoupled_decay", [](const Segment& s) { return s.decay ? 1 / s.rate : 0.0; });
    };
    context.norm = [this](Tensor x) { return norm(x); };
    context.gradient_norm = [this] { return gradient_norm(); };
    context.spread = [this](Tensor x) { return spread(x); };
    context.matrices = [this](Tensor x, const MatrixFunction& f) {
      return map_matrices(x, segments_, space_.block, MatrixOrder::of_segment,
                          [&](Tensor matrices, const auto&) { return f(matrices); });
    };
    context.matrices_with_slots = [this](Tensor x, const MatrixSlotFunction& f) {
      return map_matrices(x, segments_, space_.block, MatrixOrder::of_shape,
                          [&](Tensor matrices, const auto& segments) { return with_slots(matrices, segments, f); });
    };
    context.slot = [this](const std::string& name) { return slot(name); };
    context.set_slot = [this](const std::string& name, Tensor value) { set_slot(name, value); };
    context.gradient_offset = context.slot;
    context.scalar = [this](const std::string& name) { return scalar(name); };
    if (shared_.reports) context.report = [this](const std::string& name, Tensor layers) { report(name, layers); };
    const Tensor updated = rule_(context);
    check_shape(kFlatParameters, updated);
    check_slots();
    return as_flat(kept_where_not_finite(updated, [this] { return part(as_blocks(graph_.read(kFlatParameters))); }));
  }

 private:
  int64_t blocks() const { return range_.length / space_.block; }
  Dims block_shape() const { return {blocks(), space_.block}; }

  Tensor as_blocks(Value flat) {
    return {graph_, reshaped(graph_, flat, {graph_.type(flat).elements() / space_.block, space_.block})};
  }
  Value as_flat(const Tensor& x) { return reshaped(graph_, x.value(), {range_.length}); }
  // Returns this group's rows of a tensor with one row for each block of all parameters.
  Tensor part(const Tensor& all) { return part(all, range_); }
  Tensor part(const Tensor& all, const SpaceRange& range) {
    const int64_t first = range.offset / space_.block, count = range.length / space_.block;
    return count == all.size(0) ? all : slice(all, 0, first, first + count);
  }

  Tensor gradient_norm() {
    Tensor squares;
    for (const int32_t group : shared_.together) {
      const SpaceRange range = space_.range_of(group);
      if (range.length == 0) continue;
      const Tensor layers = segment_norms(part(shared_.gradient, range), space_.segments_of(group), space_.block);
      const Tensor own = sum(layers * layers);
      squares = squares.valid() ? squares + own : own;
    }
    return sqrt(squares);
  }

  // Returns a table with one number for each block, equal within a segment. Adds it to the graph if it is missing.
  template <class F>
  Tensor by_block(const std::string& name, DType dtype, F&& number_of) {
    const std::string full = "flat." + prefix_ + name;
    if (graph_.find_variable(full)) return {graph_, graph_.read(full)};
    Variable table;
    table.name = full;
    table.type = {dtype, {blocks()}, ""};
    table.kind = VariableKind::table;
    table.init.kind = InitKind::runs;
    for (const Segment& segment : segments_)
      table.values.insert(table.values.end(), {static_cast<double>(space_.blocks_of(segment)), number_of(segment)});
    return {graph_, graph_.add_variable(table)};
  }

  bool has_rates() const {
    return std::ranges::any_of(segments_, [](const Segment& segment) { return segment.rate != 1; });
  }

  Tensor scalar(const std::string& name) {
    const Tensor value(graph_, step_scalar(graph_, prefix_ + name, space_.dtype));
    if (!is_learning_rate(name) || !has_rates()) return value;
    return value * multiplier("rate", [](const Segment& s) { return s.rate; });
  }

  // Returns a number of each segment, for all of its elements.
  template <class F>
  Tensor multiplier(const std::string& name, F&& number_of) {
    const Tensor table = by_block(name, space_.dtype, number_of);
    return {graph_, graph_.add(Op::broadcast, {table.value()}, {{"shape", block_shape()}, {"axes", Ints{0}}})};
  }

  Tensor norm(const Tensor& x) {
    check_shape("a norm", x);
    return segment_norms(x, segments_, space_.block);
  }

  Tensor spread(const Tensor& x) {
    check_layers("spread", x);
    const Segment* first = segments_.data();
    return gather(x, by_block("layer", DType::i32, [&](const Segment& s) { return static_cast<double>(&s - first); }));
  }

  std::string slot_name(const std::string& slot) const { return "flat." + prefix_ + slot; }

  Tensor slot(const std::string& name) {
    const std::string full = slot_name(name);
    slots_.insert(name);
    return as_blocks(graph_.find_variable(full) ? graph_.read(full)
                                                : graph_.add_variable(slot_variable(space_, full, name, range_)));
  }

  void set_slot(const std::string& name, const Tensor& value) {
    slot(name);
    const std::string full = slot_name(name);
    check_shape(full, value);
    const Tensor kept = kept_where_not_finite(value, [&] { return as_blocks(graph_.read(full)); });
    write_slot(full, name, as_flat(kept));
    set_.insert(name);
  }

  using Segments = std::vector<const Segment*>;

  Tensor with_slots(const Tensor& matrices, const Segments& segments, const MatrixSlotFunction& f) {
    MatrixBatch batch;
    batch.values = matrices;
    batch.slot = [&](const std::string& name, const Dims& shape) { return matrix_slot(name, shape, segments); };
    batch.set_slot = [&](const std::string& name, Tensor value) { set_matrix_slot(name, value, segments); };
    return f(batch);
  }

  // The slot of one matrix is a variable that has the name of the slot's tensors in checkpoints.
  static std::string matrix_slot_name(const std::string& name, const Segment& segment) {
    return name + "." + segment.name;
  }

  Tensor matrix_slot(const std::string& name, const Dims& shape, const Segments& segments) {
    Dims one = shape;
    one.insert(one.begin(), 1);
    std::vector<Tensor> parts;
    for (const Segment* segment : segments) {
      const std::string full = matrix_slot_name(name, *segment);
      slots_.insert(full);
      if (!graph_.find_variable(full))
        graph_.add_variable({full, {space_.dtype, shape, ""}, VariableKind::slot, Role::none, {}, {}, 0});
      parts.push_back(reshape({graph_, graph_.read(full)}, one));
    }
    return concat(parts, 0);
  }

  void set_matrix_slot(const std::string& name, const Tensor& value, const Segments& segments) {
    const Dims shape(value.shape().begin() + 1, value.shape().end());
    const Tensor before = matrix_slot(name, shape, segments);
    check_type(name, value, "a value for every matrix", before.shape());
    const Tensor kept = kept_where_not_finite(value, [&] { return before; });
    for (size_t i = 0; i < segments.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      write_slot(matrix_slot_name(name, *segments[i]), name, reshape(slice(kept, 0, at, at + 1), shape).value());
      set_.insert(matrix_slot_name(name, *segments[i]));
    }
  }

  void write_slot(const std::string& variable, const std::string& name, Value value) {
    if (!graph_.add_write(variable, value)) throw Error(fmt::format("the update rule sets its slot '{}' twice", name));
  }

  // Throws Error unless the tensor has this shape and the parameters' dtype.
  void check_type(const std::string& what, const Tensor& value, const char* expected, const Dims& shape) const {
    if (value.valid() && value.shape() == shape && value.dtype() == space_.dtype) return;
    throw Error(fmt::format("the update rule gives {} for {}: expected {}, {}",
                            value.valid() ? to_string(value.type()) : "a Tensor that was never assigned", what,
                            expected, to_string({space_.dtype, shape, ""})));
  }
  void check_shape(const std::string& what, const Tensor& value) const {
    check_type(what, value, "a value for every parameter", block_shape());
  }
  void check_layers(const std::string& what, const Tensor& value) const {
    check_type(what, value, "a value for every layer", {std::ssize(segments_), 1});
  }

  template <class Before>
  Tensor kept_where_not_finite(const Tensor& value, Before&& before) {
    return shared_.finite.valid() ? select(shared_.finite, value, before()) : value;
  }

  void check_slots() const {
    for (const std::string& name : slots_)
      if (!set_.contains(name))
        throw Error(fmt::format("the update rule reads its slot '{}' but never sets it: it would stay zero", name));
  }

  void report(const std::string& name, const Tensor& layers) {
    check_layers(fmt::format("the report '{}'", name), layers);
    graph_.outputs.push_back({kLayerOutput + report_prefix_ + name, layers.value(), Merge::first, OutputKind::layer});
  }

  const SharedUpdate& shared_;
  const ParameterSpace& space_;
  Graph& graph_;
  const UpdateRule& rule_;
  const std::span<const Segment> segments_;
  const SpaceRange range_;
  const std::string prefix_, report_prefix_;
  std::set<std::string> slots_, set_;
};

}  // namespace

// First sums the squares of each block; then adds up each segment's sums, which are rows of a matrix as wide as the
// longest segment has blocks.
Tensor segment_norms(const Tensor& x, std::span<const Segment> segments, int64_t block) {
  Graph& graph = x.graph();
  std::vector<double> first, blocks_of;
  for (const Segment& segment : segments) {
    first.push_back(static_cast<double>((segment.offset - segments.front().offset) / block));
    blocks_of.push_back(static_cast<double>(ceil_div(segment.length, block)));
  }
  const auto rows = static_cast<int64_t>(segments.size());
  const auto columns = static_cast<int64_t>(*std::max_element(blocks_of.begin(), blocks_of.end()));
  const Tensor squares = sum(x * x, {1});
  const Tensor column = broadcast_to(iota(graph, DType::i32, columns), {rows, columns});
  const Tensor within = constant(graph, DType::i32, {rows, 1}, first) + column;
  const Tensor inside = column < constant(graph, DType::i32, {rows, 1}, blocks_of);
  const Tensor total = sum(select(inside, gather(squares, within), 0.0), {1});
  return sqrt(reshape(total, {rows, 1}));
}

Value update_group(const SharedUpdate& shared, const ParameterGroup& group, int32_t number) {
  return GroupUpdate(shared, group, number).run();
}

}  // namespace kb
