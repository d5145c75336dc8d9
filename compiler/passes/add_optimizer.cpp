// add_optimizer: takes a graph with the outputs "grad.NAME" (differentiate) or, for inference, none; leaves one whose
// parameters are views of "flat.parameters" and, in training, one update expression over the whole flat space. It
// stands before simplify, so that what the optimizer writes is folded with the rest; before precision, which then sees
// one master vector.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/passes/loss_scale.h"
#include "compiler/passes/parameter_space.h"
#include "compiler/passes/rewrite.h"
#include "graph/functions.h"
#include "graph/report.h"

namespace kb {

const Segment* ParameterSpace::find(const std::string& name) const {
  auto at = std::find_if(segments.begin(), segments.end(), [&](const Segment& s) { return s.name == name; });
  return at == segments.end() ? nullptr : &*at;
}

ParameterSpace make_space(const std::vector<const Variable*>& parameters, const std::vector<Role>& no_decay,
                          const std::vector<Role>& no_adapt, int64_t block) {
  const auto has = [](const std::vector<Role>& roles, Role role) {
    return std::find(roles.begin(), roles.end(), role) != roles.end();
  };
  ParameterSpace space;
  space.block = block;
  for (const Variable* parameter : parameters) {
    Segment segment{parameter->name,
                    parameter->type,
                    parameter->role,
                    parameter->init,
                    space.length,
                    parameter->type.elements(),
                    !has(no_decay, parameter->role),
                    !has(no_adapt, parameter->role)};
    space.dtype = parameter->type.dtype;
    space.length += space.blocks_of(segment) * block;
    space.segments.push_back(std::move(segment));
  }
  return space;
}

const Variable* flat_parameters(const Graph& graph) {
  const auto is = [](const Variable& v) { return v.kind == VariableKind::parameter && v.flat.has_value(); };
  const auto at = std::find_if(graph.variables.begin(), graph.variables.end(), is);
  return at == graph.variables.end() ? nullptr : &*at;
}

Variable flat_variable(const ParameterSpace& space, const std::string& slot) {
  Variable variable;
  variable.name = slot.empty() ? kFlatParameters : "flat." + slot;
  variable.type = {space.dtype, {space.length}, ""};
  variable.kind = slot.empty() ? VariableKind::parameter : VariableKind::slot;
  variable.flat = FlatVector{slot};
  return variable;
}

bool is_offset_parameters(const Graph& graph, const Node& node) {
  const auto is = [&](Value value, VariableKind kind) {
    const Node& read = graph.node(value);
    return read.op == Op::variable && graph.find_variable(read.attrs.text("name"))->kind == kind;
  };
  return node.op == Op::add && is(node.inputs[0], VariableKind::parameter) && is(node.inputs[1], VariableKind::slot);
}

Value segment_view(Graph& graph, Value flat, const Segment& segment) {
  Value part =
      graph.add(Op::slice, {flat},
                {{"begin", Ints{segment.offset}}, {"end", Ints{segment.offset + segment.length}}, {"step", Ints{1}}});
  return graph.add(Op::reshape, {part}, {{"shape", segment.type.shape}, {"names", segment.type.names}});
}

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

// Gradient-ready order: the order in which the backward pass computes them.
std::vector<const Variable*> ready_order(const Graph& graph, const std::map<std::string, Value>& gradients) {
  std::vector<const Variable*> parameters = parameters_of(graph);
  auto ready = [&](const Variable* p) {
    auto at = gradients.find(p->name);
    if (at == gradients.end()) return INT32_MAX;
    const Node& total = graph.node(at->second);  // over workers: these stand one behind the other
    return total.op == Op::worker_sum ? total.inputs[0].node : at->second.node;
  };
  std::stable_sort(parameters.begin(), parameters.end(),
                   [&](const Variable* a, const Variable* b) { return ready(a) < ready(b); });
  return parameters;
}

// A rule's first call, on a space of a few blocks and layers, in which what the context gives are inputs: every other
// node is the rule's own.
class RuleProbe {
 public:
  explicit RuleProbe(const UpdateRule& rule) {
    UpdateContext context;
    context.parameter = vector("parameter");
    context.gradient = vector("gradient");
    context.decay = [this] { return vector("decay"); };
    context.adapt = [this] { return vector("adapt"); };
    context.norm = [this](Tensor) {
      takes_norms_ = true;
      return fresh("norm", {kLayers, 1});
    };
    context.spread = [this](Tensor) { return fresh("spread", {kBlocks, 1}); };
    context.slot = [this](const std::string& name) { return vector("slot." + name); };
    context.gradient_offset = [this](const std::string& name) {
      if (!offset_.empty() && offset_ != name)
        throw Error(fmt::format("the update rule takes its gradient at two offsets, '{}' and '{}'", offset_, name));
      offset_ = name;
      return vector("slot." + name);
    };
    context.set_slot = [](const std::string&, Tensor) {};
    context.scalar = [this](const std::string& name) {
      return once("scalar." + name, [&] { return scalar_input(graph_, name, DType::f32); });
    };
    try {
      rule(context);
    } catch (const Error&) {
      check_nodes();  // a shape that does not fit may follow from what is refused here
      throw;
    }
    check_nodes();
  }

  // Whether the rule asks for norms, which shape the space that it works on.
  bool takes_norms() const { return takes_norms_; }
  // The slot at which the rule takes its gradient; "" = none.
  const std::string& offset() const { return offset_; }

 private:
  static constexpr int64_t kLayers = 3, kBlocks = 5;

  template <class Make>
  Tensor once(const std::string& name, Make&& make) {
    const auto [at, is_new] = made_.try_emplace(name);
    if (is_new) at->second = make();
    return at->second;
  }
  Tensor vector(const std::string& name) {
    return once(name, [&] { return input(graph_, name, DType::f32, {kBlocks, kSegmentBlock}, ""); });
  }
  Tensor fresh(const std::string& name, const Dims& shape) {
    return input(graph_, fmt::format("{}.{}", name, graph_.nodes.size()), DType::f32, shape, "");
  }

  // One value an element or a block: of all layers, side by side.
  static bool is_of_blocks(const Type& type) { return !type.shape.empty() && type.shape[0] == kBlocks; }

  void check_nodes() const {
    for (const Node& node : graph_.nodes) check(node);
  }

  void check(const Node& node) const {
    if (is_pointwise(node.op) || node.op == Op::broadcast || node.op == Op::stop_gradient) return;
    for (const Value& value : node.inputs)
      if (is_of_blocks(graph_.type(value)))
        throw Error(
            fmt::format("the update rule calls {}, which is not point-wise, on parameters, gradients or slots\n"
                        "  expected: point-wise functions, and norm(x) and spread(x) of the context\n"
                        "  got:      {}{}\n"
                        "  hint:     they are blocks of all layers in one table: a rule sees no layer's matrix",
                        name(node.op), name(node.op), line_text(node)));
  }

  // The user's own line; "" where it is not known.
  std::string line_text(const Node& node) const {
    int32_t at = node.frame;
    while (at >= 0 && graph_.frames[static_cast<size_t>(at)].caller >= 0)
      at = graph_.frames[static_cast<size_t>(at)].caller;
    if (at < 0) return "";
    const Frame& frame = graph_.frames[static_cast<size_t>(at)];
    return fmt::format(" at {}:{}", base_name(frame.file), frame.line);
  }

  Graph graph_{"rule"};
  std::map<std::string, Tensor> made_;
  bool takes_norms_ = false;
  std::string offset_;
};

class Optimize {
 public:
  Optimize(const Graph& from, CompileState& state)
      : from_(from), state_(state), to_(from.name, from.mode), rewriter_(from, to_) {}

  Graph run() {
    gradients_ = gradients_of(from_);
    if (state_.options.optimizer) probe_.emplace(state_.options.optimizer);
    if (state_.options.space)
      take_dtype_of_graph();
    else
      state_.space = make_space(ready_order(from_, gradients_), state_.options.no_decay, state_.options.no_adapt,
                                looks_at_layers() ? kNormBlock : kSegmentBlock);
    if (!state_.space.segments.empty()) bind_parameters();
    rewriter_.copy_needed();
    copy_results();
    if (state_.options.optimizer && !state_.space.segments.empty()) update();
    return std::move(to_);
  }

 private:
  bool looks_at_layers() const { return (probe_ && probe_->takes_norms()) || state_.options.log_layers; }

  // The precision pass of the training graph may have widened the space; here stands a graph before that pass.
  void take_dtype_of_graph() {
    for (Segment& segment : state_.space.segments)
      if (const Variable* parameter = from_.find_variable(segment.name))
        state_.space.dtype = segment.type.dtype = parameter->type.dtype;
  }

  void bind_parameters() {
    std::unordered_map<std::string, const Segment*> segments;
    for (const Segment& segment : state_.space.segments) segments[segment.name] = &segment;
    flat_ = to_.add_variable(flat_variable(state_.space));
    Value weights = flat_;
    if (const std::string& offset = probe_ ? probe_->offset() : state_.options.offset; !offset.empty())
      weights = to_.add(Op::add, {flat_, add_slot(offset)}, {});
    for (int32_t n = 0; n < static_cast<int32_t>(from_.nodes.size()); ++n) {
      const Node& node = from_.nodes[static_cast<size_t>(n)];
      if (node.op != Op::variable) continue;
      const std::string& name = node.attrs.text("name");
      if (from_.find_variable(name)->kind != VariableKind::parameter) continue;
      auto at = segments.find(name);
      if (at == segments.end())
        throw Error(fmt::format(
            "parameter {} is not in the training graph: both declarations of a model must have the same parameters",
            name));
      rewriter_.replace({n, 0}, segment_view(to_, weights, *at->second));
    }
  }

  void copy_results() {
    for (const Output& output : from_.outputs) {
      if (output.kind == OutputKind::gradient) continue;
      to_.outputs.push_back(output);
      to_.outputs.back().value = rewriter_.map(output.value);
    }
    for (const StateWrite& write : from_.writes) {
      if (!to_.find_variable(write.variable)) to_.add_variable(*from_.find_variable(write.variable));
      to_.writes.push_back({write.variable, rewriter_.map(write.value)});
    }
  }

  int64_t blocks() const { return state_.space.length / state_.space.block; }
  Dims block_shape() const { return {blocks(), state_.space.block}; }
  Value as_blocks(Value flat) {
    return to_.add(Op::reshape, {flat}, {{"shape", block_shape()}, {"names", std::string()}});
  }
  Value as_flat(Value v) {
    return to_.add(Op::reshape, {v}, {{"shape", Dims{state_.space.length}}, {"names", std::string()}});
  }

  Value zeros(int64_t length) {
    return to_.add(Op::constant, {},
                   {{"dtype", state_.space.dtype}, {"shape", Dims{length}}, {"values", std::vector<double>{0.0}}});
  }

  // Gradients of low-precision weights leave library calls in f32.
  Value segment_gradient(Value gradient, int64_t length) {
    if (to_.type(gradient).dtype != state_.space.dtype)
      gradient = to_.add(Op::cast, {gradient}, {{"dtype", state_.space.dtype}});
    return to_.add(Op::reshape, {gradient}, {{"shape", Dims{length}}, {"names", std::string()}});
  }

  // A concat, be it of one part: place_all_reduce knows the gradient by that.
  Value flat_gradient() {
    std::vector<Value> parts;
    for (const Segment& segment : state_.space.segments) {
      auto at = gradients_.find(segment.name);
      int64_t gap = state_.space.blocks_of(segment) * state_.space.block - segment.length;
      if (at == gradients_.end())
        gap += segment.length;
      else
        parts.push_back(segment_gradient(rewriter_.map(at->second), segment.length));
      if (gap > 0) parts.push_back(zeros(gap));
    }
    return to_.add(Op::concat, parts, {{"axis", int64_t{0}}});
  }

  // One number a block, equal over a segment, as a table of the compiler's.
  template <class F>
  Value by_block(const std::string& name, DType dtype, F&& number_of) {
    const std::string full = "flat." + name;
    if (to_.find_variable(full)) return to_.read(full);
    Variable table;
    table.name = full;
    table.type = {dtype, {blocks()}, ""};
    table.kind = VariableKind::table;
    table.init.kind = InitKind::runs;
    for (const Segment& segment : state_.space.segments)
      table.values.insert(table.values.end(),
                          {static_cast<double>(state_.space.blocks_of(segment)), number_of(segment)});
    return to_.add_variable(table);
  }

  Value multiplier(const std::string& name, bool Segment::*flag) {
    const Value table = by_block(name, state_.space.dtype, [&](const Segment& s) { return s.*flag ? 1.0 : 0.0; });
    return to_.add(Op::broadcast, {table}, {{"shape", block_shape()}, {"axes", Ints{0}}});
  }

  // Sums of squares of the blocks; of each segment's, as rows of a matrix as wide as the longest segment has blocks.
  Tensor norm(Tensor x) {
    const std::vector<Segment>& segments = state_.space.segments;
    std::vector<double> first, blocks_of;
    for (const Segment& segment : segments) {
      first.push_back(static_cast<double>(segment.offset / state_.space.block));
      blocks_of.push_back(static_cast<double>(state_.space.blocks_of(segment)));
    }
    const auto rows = static_cast<int64_t>(segments.size());
    const auto columns = static_cast<int64_t>(*std::max_element(blocks_of.begin(), blocks_of.end()));
    const Tensor squares = sum(x * x, {1});
    const Tensor column = broadcast_to(iota(to_, DType::i32, columns), {rows, columns});
    const Tensor block = constant(to_, DType::i32, {rows, 1}, first) + column;
    const Tensor inside = column < constant(to_, DType::i32, {rows, 1}, blocks_of);
    const Tensor total = sum(select(inside, gather(squares, block), 0.0), {1});
    return sqrt(reshape(total, {rows, 1}));
  }

  Tensor spread(Tensor x) {
    const Segment* first = state_.space.segments.data();
    const Value segment_of =
        by_block("layer", DType::i32, [&](const Segment& s) { return static_cast<double>(&s - first); });
    return gather(x, Tensor(to_, segment_of));
  }

  Tensor scalar(const std::string& name) {
    auto [at, fresh] = scalars_.try_emplace(name);
    if (fresh) at->second = find_or_add_scalar(name);
    return Tensor(to_, at->second);
  }

  Value find_or_add_scalar(const std::string& name) {
    for (int32_t n = 0; n < static_cast<int32_t>(to_.nodes.size()); ++n) {
      const Node& node = to_.nodes[static_cast<size_t>(n)];
      if (node.op == Op::input && node.attrs.text("name") == name) return {n, 0};
    }
    return to_.add(Op::input, {},
                   {{"name", name},
                    {"kind", std::string("scalar")},
                    {"dtype", state_.space.dtype},
                    {"shape", Dims{}},
                    {"names", std::string()}});
  }

  Value add_slot(const std::string& name) { return to_.add_variable(flat_variable(state_.space, name)); }

  Tensor slot(const std::string& name) {
    std::string full = "flat." + name;
    return Tensor(to_, as_blocks(to_.find_variable(full) ? to_.read(full) : add_slot(name)));
  }

  void set_slot(const std::string& name, Tensor value) {
    slot(name);
    if (!write_flat("flat." + name, value)) throw Error(fmt::format("the update rule sets its slot '{}' twice", name));
  }

  // False where the variable is written already.
  bool write_flat(const std::string& variable, Tensor value) {
    if (value.shape() != block_shape())
      throw Error(fmt::format("the update rule gives {} for {}: expected a value for every parameter, {}",
                              shape_text(value.type()), variable, shape_text({state_.space.dtype, block_shape(), ""})));
    if (finite_.valid()) value = select(finite_, value, Tensor(to_, as_blocks(to_.read(variable))));
    return to_.add_write(variable, as_flat(value.value()));
  }

  void check_slots() const {
    std::set<std::string> written;
    for (const StateWrite& write : to_.writes) written.insert(write.variable);
    for (const Variable& variable : to_.variables)
      if (variable.kind == VariableKind::slot && variable.flat && !written.contains(variable.name))
        throw Error(fmt::format("the update rule reads its slot '{}' but never sets it: it would stay zero",
                                variable.flat->slot));
  }

  void update() {
    UpdateContext context;
    context.gradient = gradient();
    context.parameter = Tensor(to_, as_blocks(flat_));
    context.decay = [this] { return Tensor(to_, multiplier("decay", &Segment::decay)); };
    context.adapt = [this] { return Tensor(to_, multiplier("adapt", &Segment::adapt)); };
    context.norm = [this](Tensor x) { return norm(x); };
    context.spread = [this](Tensor x) { return spread(x); };
    context.slot = [this](const std::string& name) { return slot(name); };
    context.set_slot = [this](const std::string& name, Tensor value) { set_slot(name, value); };
    context.gradient_offset = context.slot;
    context.scalar = [this](const std::string& name) { return scalar(name); };
    if (state_.options.log_layers) report_layers(context);
    write_flat(kFlatParameters, state_.options.optimizer(context));
    if (finite_.valid()) update_loss_scale(finite_, scalar(kLossScaleInterval));
    check_slots();
  }

  void report_layers(UpdateContext& context) {
    context.report = [this](const std::string& name, Tensor layers) {
      to_.outputs.push_back({kLayerOutput + name, layers.value(), Merge::first, OutputKind::layer});
    };
    context.report("weight", norm(context.parameter));
    context.report("gradient", norm(context.gradient));
    to_.outputs.push_back({kGradientVector, as_flat(context.gradient.value()), Merge::first, OutputKind::layer});
  }

  Tensor gradient() {
    const Tensor flat(to_, as_blocks(flat_gradient()));
    if (!has_loss_scale(to_)) return flat;
    const Unscaled own = unscaled(flat);
    finite_ = own.finite;
    return own.gradient;
  }

  const Graph& from_;
  CompileState& state_;
  Graph to_;
  Rewriter rewriter_;
  std::optional<RuleProbe> probe_;  // empty in inference
  Value flat_;
  std::map<std::string, Value> gradients_;
  std::map<std::string, Value> scalars_;
  Tensor finite_;  // with a loss scale: whether this step's gradients are
};

}  // namespace

Graph add_optimizer(Graph graph, CompileState& state) { return Optimize(graph, state).run(); }

std::string gradient_offset(const UpdateRule& rule) { return RuleProbe(rule).offset(); }

}  // namespace kb
