// The last part of fusion finds the nodes that each group computes, the values that it reads and those that it writes.
#include <algorithm>

#include "compiler/fuse/rules.h"

namespace kb {
namespace {

bool has_value(const std::vector<Value>& values, Value v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

// Returns whether the group's product of matrices reads the value, which has to lie in memory as it is multiplied.
bool is_multiplied(const Drafts& drafts, const Group& group, Value v) {
  return group.product >= 0 && has_value(drafts.node(group.product).inputs, v);
}

// Marks the cheap values among `inputs` whose large inputs the group reads anyway: it computes them again instead of
// reading them, for example a mask from the input that it was made from. Returns whether there are any.
bool repeats_derived(Drafts& drafts, const Group& group, const std::vector<Value>& inputs) {
  if (!traits(group.cls).computes_again) return false;
  const Graph& graph = drafts.graph();
  const Materialised& materialised = drafts.materialised();
  std::vector<Value> derived;
  for (Value input : inputs) {
    const size_t id = drafts.id(input);
    if (drafts.owner(input) != input || !materialised.root[id] || !materialised.cheap[id]) continue;
    if (is_multiplied(drafts, group, input)) continue;
    const int64_t elements = graph.type(input).elements();
    const Trace alone = drafts.trace(input.node, -1);
    if (!std::all_of(alone.inputs.begin(), alone.inputs.end(),
                     [&](Value v) { return 2 * graph.type(v).elements() < elements || has_value(inputs, v); }))
      continue;
    derived.push_back(input);
    drafts.compute_again(derived);
  }
  return !derived.empty();
}

void collect_library(const Drafts& drafts, Draft& call) {
  Group& group = call.group;
  group.nodes = call.seeds;
  group.inputs = drafts.node(call.seeds[0]).inputs;
  if (group.epilogue.bias.valid()) group.inputs.push_back(group.epilogue.bias);
}

void collect_group(Drafts& drafts, int32_t g) {
  Group& group = drafts[g].group;
  if (group.cls == FusionClass::library) return collect_library(drafts, drafts[g]);
  drafts.compute_again({});
  Trace all = drafts.trace_group(g);
  if (repeats_derived(drafts, group, all.inputs)) all = drafts.trace_group(g);
  group.nodes = std::move(all.nodes);
  group.inputs = std::move(all.inputs);
}

// Fills each group's outputs: the results of its seeds that another group reads or that memory needs. A window or
// order group writes all its results, a library call those of its node or, if that has one, the result of its epilogue.
void mark_outputs(Drafts& drafts) {
  std::vector<uint8_t> wanted = drafts.materialised().needed;
  for (int32_t g = 0; g < drafts.size(); ++g)
    for (Value input : drafts[g].group.inputs) wanted[drafts.id(drafts.owner(input))] = 1;
  for (int32_t g = 0; g < drafts.size(); ++g) {
    Group& group = drafts[g].group;
    if (group.cls == FusionClass::library) {
      group.outputs = {group.epilogue.result};
      for (int32_t out = 1; out < static_cast<int32_t>(drafts.node(drafts[g].seeds[0]).outputs.size()); ++out)
        group.outputs.push_back({drafts[g].seeds[0], out});
      continue;
    }
    const bool writes_all = group.cls == FusionClass::window || group.cls == FusionClass::order;
    for (int32_t seed : drafts[g].seeds)
      for (int32_t out = 0; out < static_cast<int32_t>(drafts.node(seed).outputs.size()); ++out)
        if (wanted[drafts.id({seed, out})] || writes_all) group.outputs.push_back({seed, out});
  }
}

}  // namespace

std::vector<Group> collect(Drafts& drafts) {
  for (int32_t g = 0; g < drafts.size(); ++g) collect_group(drafts, g);
  mark_outputs(drafts);
  std::vector<Group> groups;
  groups.reserve(static_cast<size_t>(drafts.size()));
  for (int32_t g = 0; g < drafts.size(); ++g) groups.push_back(std::move(drafts[g].group));
  return groups;
}

}  // namespace kb
