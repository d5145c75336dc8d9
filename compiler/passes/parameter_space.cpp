#include "compiler/passes/parameter_space.h"

#include <algorithm>

namespace kb {

const Segment* ParameterSpace::find(const std::string& name) const {
  auto at = std::find_if(segments.begin(), segments.end(), [&](const Segment& s) { return s.name == name; });
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

ParameterSpace make_space(const std::vector<const Variable*>& parameters, const std::vector<ParameterGroup>& groups,
                          int64_t block) {
  const auto has = [](const std::vector<Role>& roles, Role role) {
    return std::find(roles.begin(), roles.end(), role) != roles.end();
  };
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
                    parameter->rate};
    space.dtype = parameter->type.dtype;
    space.length += space.blocks_of(segment) * block;
    if (!owner.is_frozen) space.gradient_length = space.length;
    space.segments.push_back(std::move(segment));
  }
  return space;
}

const Variable* flat_parameters(const Graph& graph) {
  const auto is = [](const Variable& v) { return v.kind == VariableKind::parameter && v.flat.has_value(); };
  const auto at = std::find_if(graph.variables.begin(), graph.variables.end(), is);
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

Value segment_view(Graph& graph, Value flat, const Segment& segment) {
  Value part =
      graph.add(Op::slice, {flat},
                {{"begin", Ints{segment.offset}}, {"end", Ints{segment.offset + segment.length}}, {"step", Ints{1}}});
  return graph.add(Op::reshape, {part}, {{"shape", segment.type.shape}, {"names", segment.type.names}});
}

}  // namespace kb
