// cut: takes the rewritten training or inference graph; leaves the programs of a step. It stands between the graph
// passes and fusion, because the programs are fused and planned apart and share only the store.
#include "compiler/passes/cut.h"

#include <fmt/format.h>

#include <map>

#include "compiler/passes/nodes.h"
#include "compiler/passes/parameter_space.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/worker_routines.h"
#include "compiler/views.h"

namespace kb {
namespace {

bool is_prepared_op(const Graph& graph, const Node& node) {
  return node.op == Op::pack_weights || node.op == Op::transpose || is_offset_parameters(graph, node) ||
         (node.op == Op::cast && is_low_precision(node.type().dtype) && graph.type(node.inputs[0]).dtype == DType::f32);
}

// Returns the prepared values that something outside `prepare` reads.
std::vector<Value> prepared_values(const Graph& graph) {
  std::vector<uint8_t> only = parameter_only(graph);
  std::vector<uint8_t> inside(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) inside[n] = only[n] && is_prepared_op(graph, graph.nodes[n]);
  for (size_t n = graph.nodes.size(); n-- > 0;)
    if (inside[n])
      for (Value input : graph.nodes[n].inputs)
        inside[static_cast<size_t>(input.node)] |=
            graph.node(input).op != Op::variable && !is_view_op(graph, graph.node(input));
  std::vector<uint8_t> taken(graph.nodes.size(), 0);
  std::vector<Value> result;
  auto take = [&](Value v) {
    if (!is_prepared_op(graph, graph.node(v)) || !only[static_cast<size_t>(v.node)] ||
        taken[static_cast<size_t>(v.node)]++)
      return;
    result.push_back(v);
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (!inside[n])
      for (Value input : graph.nodes[n].inputs) take(input);
  for (const Output& output : graph.outputs) take(output.value);
  return result;
}

Variable prepared_variable(const Graph& graph, Value value, size_t number, const Target& target) {
  Variable variable;
  variable.name = fmt::format("prepared.{}.{}", graph.name, number);
  variable.type = graph.type(value);
  variable.kind = VariableKind::prepared;
  const Node& node = graph.node(value);
  if (node.op == Op::pack_weights && target.library) variable.bytes = target.library->packed_bytes(graph, node);
  return variable;
}

// ---- workers

using Sums = std::map<SumGroup, std::vector<Value>>;  // worker_sums by group, in order

Sums sums_by_group(const Graph& graph) {
  Sums sums;
  for (int32_t n = 0; n < graph.size(); ++n) {
    if (const std::optional<SumGroup> group = sum_group(graph.node(n))) sums[*group].push_back({n, 0});
  }
  return sums;
}

Type flat_type(const Graph& graph, const std::vector<Value>& sums) {
  int64_t length = 0;
  for (Value sum : sums) length += graph.type(sum).elements();
  return {graph.type(sums.at(0)).dtype, {length}, ""};
}

Variable partial_variable(std::string name, SumGroup group, Type type) {
  Variable variable;
  variable.name = std::move(name);
  variable.type = std::move(type);
  variable.kind = VariableKind::partial;
  variable.sum = group;
  return variable;
}

Graph cut_micro(const Graph& graph, const Sums& sums) {
  Rewriter rewriter(graph, "micro");
  Graph& micro = rewriter.to();
  for (const auto& [group, members] : sums) {
    std::vector<Value> parts;
    for (Value sum : members) {
      const Value own = graph.node(sum).inputs[0];
      if (!rewriter.has(own)) rewriter.copy_upto(own);
      parts.push_back(rewriter.map(own));
    }
    const Value leaf = joined(micro, parts);
    micro.add_variable(partial_variable(leaf_name(group), group, flat_type(graph, members)));
    micro.writes.push_back({leaf_name(group), leaf});
  }
  return without_unused(micro);
}

Graph make_carry(const Graph& graph, const Sums& sums) {
  Graph carry("carry", graph.mode);
  for (const auto& [group, members] : sums) {
    std::vector<Value> values;
    for (const CarryVariable variable : {CarryVariable::below, CarryVariable::own, CarryVariable::sum})
      values.push_back(
          carry.add_variable(partial_variable(carry_name(variable, group), group, flat_type(graph, members))));
    carry.writes.push_back({carry_name(CarryVariable::sum, group), carry.add(Op::carry, {values[0], values[1]})});
  }
  return carry;
}

// Builds the part `final`, in which carries and all-reduces replace worker_sums.
class Final : Rewriter {
 public:
  Final(const Graph& graph, const Sums& sums, const Workers& workers)
      : Rewriter(graph), sums_(sums), workers_(workers) {}

  Graph run() {
    const std::vector<uint8_t> is_needed = needed();
    for (int32_t n = 0; n < from_.size(); ++n) {
      if (!is_needed[static_cast<size_t>(n)]) continue;
      const Node& node = from_.node(n);
      if (const std::optional<SumGroup> group = sum_group(node))
        replace({n, 0}, total(node, *group));
      else
        copy(n);
    }
    return finish();
  }

 private:
  // Ends the binary count: adds the last worker's own sum to the partial sums that are left, lowest level first.
  Value total(const Node& node, SumGroup group) {
    Value sum = map(node.inputs[0]);
    const auto left = static_cast<uint64_t>(workers_.virtual_workers - 1);
    for (int64_t level = 0; level < carry_levels(workers_.virtual_workers); ++level)
      if ((left >> level & 1) != 0) sum = to_.add(Op::carry, {part(level, group, node), sum});
    if (workers_.processes > 1) return to_.add(Op::all_reduce, {sum});
    if (workers_.virtual_workers > 2) keep_in_leaf(sum, group);
    return sum;
  }

  // Writes the total to the variable "leaf.GROUP", so that it takes the memory of the other workers' own sums.
  void keep_in_leaf(Value sum, SumGroup group) {
    const std::string name = leaf_name(group);
    to_.add_variable(partial_variable(name, group, to_.type(sum)));
    to_.writes.push_back({name, sum});
  }

  Value part(int64_t level, SumGroup group, const Node& node) {
    const std::string name = partial_name(level, group);
    const Value whole = to_.find_variable(name)
                            ? to_.read(name)
                            : to_.add_variable(partial_variable(name, group, flat_type(from_, sums_.at(group))));
    const int64_t begin = node.attrs.integer("offset");
    return part_of(to_, whole, begin, begin + node.type().elements());
  }

  const Sums& sums_;
  const Workers& workers_;
};

std::vector<Variable> partial_sums(const Graph& graph, const Sums& sums, int64_t virtual_workers) {
  std::vector<Variable> result;
  for (const auto& [group, members] : sums) {
    const Type type = flat_type(graph, members);
    for (int64_t level = 0; level < carry_levels(virtual_workers); ++level)
      result.push_back(partial_variable(partial_name(level, group), group, type));
    // With two workers the first one's own sums are also the partial sum of level 0, so no leaf is needed.
    if (virtual_workers > 2) result.push_back(partial_variable(leaf_name(group), group, type));
  }
  return result;
}

std::vector<SumGroup> groups_of(const Sums& sums) {
  std::vector<SumGroup> groups;
  for (const auto& [group, members] : sums) groups.push_back(group);
  return groups;
}

}  // namespace

Cut cut(const Graph& graph, const Target& target, const Workers& workers) {
  std::vector<Value> values = prepared_values(graph);
  Rewriter prepare(graph, "prepare"), rest(graph);
  for (size_t i = 0; i < values.size(); ++i) {
    Variable variable = prepared_variable(graph, values[i], i, target);
    prepare.copy_upto(values[i]);
    prepare.to().add_variable(variable);
    prepare.to().writes.push_back({variable.name, prepare.map(values[i])});
    rest.replace(values[i], rest.to().add_variable(variable));
  }
  rest.copy_needed();
  Graph rest_of_step = rest.finish();
  const Sums sums = sums_by_group(rest_of_step);
  Graph micro("micro", graph.mode), carry("carry", graph.mode);
  Cut result{{worker_routines(groups_of(sums), workers.virtual_workers), {}}, {}};
  if (workers.virtual_workers > 1 && !sums.empty()) {
    micro = cut_micro(rest_of_step, sums);
    carry = make_carry(rest_of_step, sums);
    result.partial_sums = partial_sums(rest_of_step, sums, workers.virtual_workers);
  }
  Graph final = sums.empty() ? std::move(rest_of_step) : Final(rest_of_step, sums, workers).run();
  result.parts = {{PartRole::prepare, std::move(prepare.to())},
                  {PartRole::micro, std::move(micro)},
                  {PartRole::carry, std::move(carry)},
                  {PartRole::final, std::move(final)}};
  return result;
}

}  // namespace kb
