#include "compiler/passes/parameter_space.h"

#include <algorithm>

#include "compiler/passes/nodes.h"

namespace kb {

const Segment* ParameterSpace::find(const std::string& name) const {
  const auto at = std::ranges::find(segments, name, &Segment::name);
  return at == segments.end() ? nullptr : &*at;
}

std::span<const Segment> ParameterSpace::segments_of(int32_t group) const {
  const auto in = std::ranges::equal_range(segments, group, {}, &Segment::group);
  return {in.begin(), in.end()};
}

SpaceRange ParameterSpace::range_of(int32_t group) const {
  const std::span<const Segment> own = segments_of(group);
  if (own.empty()) return {};
  const Segment& last = own.back();
  return {own.front().offset, last.offset + blocks_of(last) * block - own.front().offset};
}

bool is_filters(const Variable& parameter) { return parameter.type.names == "OIHW"; }

namespace {

// Fewer channels than this are those of images, whose convolutions change on a GPU (space_to_depth).
constexpr int64_t kLeastChannels = 8;

// Returns whether another order of the filters would move any elements.
bool has_taps(const Variable& parameter) {
  const Dims& shape = parameter.type.shape;
  return is_filters(parameter) && shape[1] >= kLeastChannels && shape[2] * shape[3] > 1;
}

// Returns the shape in which a segment's elements lie.
Dims shape_in_memory(const Segment& segment) {
  if (segment.order.empty()) return segment.type.shape;
  Dims shape;
  for (const int64_t axis : segment.order) shape.push_back(segment.type.shape[static_cast<size_t>(axis)]);
  return shape;
}

}  // namespace

ParameterSpace make_space(const std::vector<const Variable*>& parameters, const std::vector<ParameterGroup>& groups,
                          int64_t block, bool filters_last) {
  const auto has = [](const std::vector<Role>& roles, Role role) { return std::ranges::count(roles, role) > 0; };
  const ParameterGroup none;
  ParameterSpace space;
  space.block = block;
  for (const Variable* parameter : parameters) {
    const auto group = static_cast<size_t>(parameter->group);
    const ParameterGroup& owner = group < groups.size() ? groups[group] : none;
    Segment segment{parameter->name,
                    parameter->type,
                    parameter->role,
                    parameter->init,
                    space.length,
                    parameter->type.elements(),
                    !has(owner.no_decay, parameter->role),
                    !has(owner.no_adapt, parameter->role),
                    parameter->group,
                    parameter->rate,
                    filters_last && has_taps(*parameter) ? Ints{0, 2, 3, 1} : Ints{}};
    space.dtype = parameter->type.dtype;
    space.length += space.blocks_of(segment) * block;
    if (!owner.is_frozen) space.gradient_length = space.length;
    space.segments.push_back(std::move(segment));
  }
  return space;
}

const Variable* flat_parameters(const Graph& graph) {
  const auto is = [](const Variable& v) { return v.kind == VariableKind::parameter && v.flat.has_value(); };
  const auto at = std::ranges::find_if(graph.variables, is);
  return at == graph.variables.end() ? nullptr : &*at;
}

Variable flat_variable(const ParameterSpace& space) {
  Variable variable = slot_variable(space, kFlatParameters, "", {0, space.length});
  variable.kind = VariableKind::parameter;
  return variable;
}

Variable slot_variable(const ParameterSpace& space, const std::string& name, const std::string& slot,
                       const SpaceRange& range) {
  Variable variable;
  variable.name = name;
  variable.type = {space.dtype, {range.length}, ""};
  variable.kind = VariableKind::slot;
  variable.flat = FlatVector{slot, range.offset};
  return variable;
}

bool is_offset_parameters(const Graph& graph, const Node& node) {
  const auto is = [&](Value value, VariableKind kind) {
    const Node& read = graph.node(value);
    return read.op == Op::variable && graph.find_variable(read.attrs.text("name"))->kind == kind;
  };
  return node.op == Op::add && is(node.inputs[0], VariableKind::parameter) && is(node.inputs[1], VariableKind::slot);
}

std::vector<uint8_t> parameter_only(const Graph& graph) {
  std::vector<uint8_t> result(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op == Op::variable)
      result[n] = graph.find_variable(node.attrs.text("name"))->kind == VariableKind::parameter;
    if (node.inputs.empty()) continue;
    bool all = true;
    for (Value input : node.inputs) all &= result[static_cast<size_t>(input.node)] != 0;
    result[n] = all || is_offset_parameters(graph, node);
  }
  return result;
}

Value segment_view(Graph& graph, Value flat, const Segment& segment) {
  const Value part = part_of(graph, flat, segment.offset, segment.offset + segment.length);
  const bool in_order = segment.order.empty();
  const Value tensor =
      graph.add(Op::reshape, {part},
                {{"shape", shape_in_memory(segment)}, {"names", in_order ? segment.type.names : std::string()}});
  if (in_order) return tensor;
  Ints back(segment.order.size());
  for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>(segment.order[i])] = static_cast<int64_t>(i);
  return graph.add(Op::transpose, {tensor}, {{"perm", back}});
}

Value segment_vector(Graph& graph, Value value, const Segment& segment) {
  if (!segment.order.empty()) value = graph.add(Op::transpose, {value}, {{"perm", segment.order}});
  return reshaped(graph, value, {segment.length});
}

}  // namespace kb
