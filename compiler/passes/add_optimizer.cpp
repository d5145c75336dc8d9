// add_optimizer: takes a graph with the outputs "grad.NAME" (differentiate) or, for inference, none; leaves one whose
// parameters are views of "flat.parameters" and, in training, one update expression over the range of each group. It
// stands before simplify, so that what the optimizer writes is folded with the rest; before precision, which then sees
// one master vector.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/passes/group_update.h"
#include "compiler/passes/layout_table.h"
#include "compiler/passes/loss_scale.h"
#include "compiler/passes/nodes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/rule_probe.h"
#include "graph/functions.h"

namespace kb {
namespace {

std::vector<const Variable*> parameters_of(const Graph& graph) {
  std::vector<const Variable*> result;
  for (const Variable& variable : graph.variables)
    if (variable.kind == VariableKind::parameter) result.push_back(&variable);
  return result;
}

std::map<std::string, Value> gradients_of(const Graph& graph) {
  std::map<std::string, Value> result;
  for (const Output& output : graph.outputs)
    if (output.kind == OutputKind::gradient) result[output.parameter] = output.value;
  return result;
}

// Returns the parameters group by group, in the order in which the backward pass computes their gradients; with
// `filters_first` filters stand before the others, so that their gradients make up one range. Gradients that are summed
// over workers keep their order: buckets of them start early.
std::vector<const Variable*> ready_order(const Graph& graph, const std::map<std::string, Value>& gradients,
                                         bool filters_first) {
  std::vector<const Variable*> parameters = parameters_of(graph);
  auto ready = [&](const Variable* p) {
    auto at = gradients.find(p->name);
    if (at == gradients.end()) return INT32_MAX;
    const Node& total = graph.node(at->second);  // a worker_sum stands later than the gradient that is its input
    return total.op == Op::worker_sum ? total.inputs[0].node : at->second.node;
  };
  std::stable_sort(parameters.begin(), parameters.end(), [&](const Variable* a, const Variable* b) {
    const bool a_waits = filters_first && !is_filters(*a), b_waits = filters_first && !is_filters(*b);
    return std::tuple(a->group, a_waits, ready(a)) < std::tuple(b->group, b_waits, ready(b));
  });
  return parameters;
}

class Optimize : Rewriter {
 public:
  Optimize(const Graph& from, CompileState& state) : Rewriter(from), state_(state), groups_(state.options.groups) {}

  Graph run() {
    gradients_ = gradients_of(from_);
    for (size_t g = 0; g < groups_.size(); ++g)
      needs_.push_back(groups_[g].is_frozen ? RuleNeeds{} : needs_of(groups_[g].rule, has_rates(g)));
    if (state_.options.space)
      take_dtype_of_graph();
    else
      state_.space = make_space(ready_order(from_, gradients_, reads_narrow_gradients(state_.options)), groups_,
                                looks_at_layers() ? kNormBlock : kSegmentBlock, weights_last(state_.options.target));
    if (!state_.space.segments.empty()) bind_parameters();
    copy_needed();
    map_results();
    std::erase_if(to_.outputs, [](const Output& output) { return output.kind == OutputKind::gradient; });
    if (!groups_.empty() && !state_.space.segments.empty()) update();
    return std::move(to_);
  }

 private:
  bool has_rates(size_t group) const {
    const std::vector<const Variable*> parameters = parameters_of(from_);
    return std::any_of(parameters.begin(), parameters.end(), [&](const Variable* parameter) {
      return parameter->group == static_cast<int32_t>(group) && parameter->rate != 1;
    });
  }

  bool looks_at_layers() const {
    return state_.options.log_layers ||
           std::any_of(needs_.begin(), needs_.end(), [](const RuleNeeds& needs) { return needs.norms; });
  }

  // Takes the space's dtype from this graph, whose parameters are still as the user declared them: the precision pass
  // of the training graph may have widened the space that was handed over.
  void take_dtype_of_graph() {
    for (Segment& segment : state_.space.segments)
      if (const Variable* parameter = from_.find_variable(segment.name))
        state_.space.dtype = segment.type.dtype = parameter->type.dtype;
  }

  // Returns the slot that is added to the parameters where the graph reads them; "" = none.
  std::string offset_slot() const {
    const bool several = state_.space.segments.back().group > 0;
    for (size_t g = 0; g < needs_.size(); ++g)
      if (several && !needs_[g].offset.empty())
        throw Error(
            fmt::format("ParameterGroup::rule: the rule of group \"{}\" takes its gradient at an offset from "
                        "the parameters\n  expected: such a rule in a graph of one group alone\n  got:      {} "
                        "groups",
                        groups_[g].name, groups_.size()));
    if (several && !state_.options.offset.empty())
      throw Error(
          fmt::format("CompileOptions::offset: parameters of several groups have no common offset\n  expected: \"\"\n  "
                      "got:      \"{}\"",
                      state_.options.offset));
    return needs_.empty() ? state_.options.offset : needs_[0].offset;
  }

  void bind_parameters() {
    std::unordered_map<std::string, const Segment*> segments;
    for (const Segment& segment : state_.space.segments) segments[segment.name] = &segment;
    flat_ = to_.add_variable(flat_variable(state_.space));
    Value weights = flat_;
    if (const std::string slot = offset_slot(); !slot.empty()) {
      const SpaceRange whole{0, state_.space.length};
      weights = to_.add(Op::add, {flat_, to_.add_variable(slot_variable(state_.space, "flat." + slot, slot, whole))});
    }
    for (int32_t n = 0; n < from_.size(); ++n) {
      const Node& node = from_.node(n);
      if (node.op != Op::variable) continue;
      const std::string& name = node.attrs.text("name");
      if (from_.find_variable(name)->kind != VariableKind::parameter) continue;
      auto at = segments.find(name);
      if (at == segments.end())
        throw Error(fmt::format(
            "parameter {} is not in the training graph: both declarations of a model must have the same parameters",
            name));
      replace({n, 0}, segment_view(to_, weights, *at->second));
    }
  }

  Tensor as_blocks(Value flat) {
    return {to_, reshaped(to_, flat, {to_.type(flat).elements() / state_.space.block, state_.space.block})};
  }

  Value zeros(int64_t length) { return constant_zeros(to_, state_.space.dtype, {length}); }

  // The result is f32 for gradients of low-precision weights, which library calls give in f32.
  Value segment_gradient(Value gradient, const Segment& segment) {
    if (to_.type(gradient).dtype != state_.space.dtype)
      gradient = to_.add(Op::cast, {gradient}, {{"dtype", state_.space.dtype}});
    return segment_vector(to_, gradient, segment);
  }

  // Returns a concat even if it has one part, because place_all_reduce finds the gradient by its concat.
  Value flat_gradient() {
    std::vector<Value> parts;
    for (const Segment& segment : state_.space.segments) {
      if (segment.offset >= state_.space.gradient_length) break;
      auto at = gradients_.find(segment.name);
      int64_t gap = state_.space.blocks_of(segment) * state_.space.block - segment.length;
      if (at == gradients_.end())
        gap += segment.length;
      else
        parts.push_back(segment_gradient(map(at->second), segment));
      if (gap > 0) parts.push_back(zeros(gap));
    }
    return to_.add(Op::concat, parts, {{"axis", int64_t{0}}});
  }

  // Applies the rules of all groups to the values from before the step, and writes all results at once.
  void update() {
    SharedUpdate shared{.space = state_.space,
                        .gradient = as_blocks(flat_gradient()),
                        .several = groups_.size() > 1,
                        .reports = state_.options.log_layers};
    if (has_loss_scale(to_)) {
      const Unscaled own = unscaled(shared.gradient);
      shared.gradient = own.gradient;
      shared.finite = own.finite;
    }
    if (has_counts()) shared.gradient = shared.gradient * shares();
    shared.parameters = as_blocks(flat_);
    if (shared.reports) report_layers(shared);
    std::vector<Value> parts;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const SpaceRange range = range_of(g);
      if (range.length == 0) continue;
      shared.together = moved_with(groups_[g]);
      parts.push_back(groups_[g].is_frozen ? slice({to_, flat_}, 0, range.offset, range.offset + range.length).value()
                                           : update_group(shared, groups_[g], static_cast<int32_t>(g)));
    }
    to_.add_write(kFlatParameters, joined(to_, parts));
    if (shared.finite.valid())
      update_loss_scale(shared.finite, {to_, step_scalar(to_, kLossScaleInterval, state_.space.dtype)});
  }

  SpaceRange range_of(size_t group) const { return state_.space.range_of(static_cast<int32_t>(group)); }

  // Returns the numbers of the groups that the losses of `group` move, and no others.
  std::vector<int32_t> moved_with(const ParameterGroup& group) const {
    std::vector<int32_t> together;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (std::ranges::all_of(state_.options.objectives,
                              [&](const Objective& o) { return moves(o, group) == moves(o, groups_[g]); }))
        together.push_back(static_cast<int32_t>(g));
    return together;
  }

  bool has_counts() const {
    return std::ranges::any_of(state_.options.objectives, [](const Objective& o) { return !o.count.empty(); });
  }

  // Returns the factor of each block's gradient, (blocks, 1): one over the count of the loss that moves its group.
  Tensor shares() {
    std::vector<Value> parts;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const auto objective =
          std::ranges::find_if(state_.options.objectives, [&](const Objective& o) { return moves(o, groups_[g]); });
      const int64_t blocks = range_of(g).length / state_.space.block;
      if (blocks == 0 || groups_[g].is_frozen) continue;
      parts.push_back(broadcast_axes(share_of(*objective), {blocks, 1}, {}).value());
    }
    return {to_, joined(to_, parts)};
  }

  Tensor share_of(const Objective& objective) {
    const Tensor one = constant(to_, state_.space.dtype, 1);
    if (objective.count.empty()) return one;
    const auto count = std::ranges::find(to_.outputs, objective.count, &Output::name);
    return one / cast({to_, count->value}, state_.space.dtype);
  }

  void report_layers(const SharedUpdate& shared) {
    const auto report = [&](const std::string& name, Value value) {
      to_.outputs.push_back({kLayerOutput + name, value, Merge::first, OutputKind::layer});
    };
    const auto norms = [&](const Tensor& x) {
      return segment_norms(x, state_.space.segments, state_.space.block).value();
    };
    std::vector<Value> gradient = {reshaped(to_, shared.gradient.value(), {state_.space.gradient_length})};
    if (const int64_t rest = state_.space.length - state_.space.gradient_length; rest > 0)
      gradient.push_back(zeros(rest));
    const Value vector = joined(to_, gradient);
    report("weight", norms(shared.parameters));
    report("gradient", norms(as_blocks(vector)));
    to_.outputs.push_back({kGradientVector, vector, Merge::first, OutputKind::layer});
  }

  CompileState& state_;
  const std::vector<ParameterGroup>& groups_;
  std::vector<RuleNeeds> needs_;  // index: group
  Value flat_;
  std::map<std::string, Value> gradients_;
};

}  // namespace

Graph add_optimizer(Graph graph, CompileState& state) { return Optimize(graph, state).run(); }

}  // namespace kb
