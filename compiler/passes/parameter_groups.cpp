#include "compiler/passes/parameter_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/graph.h"

namespace kb {
namespace {

[[noreturn]] void refuse(std::string_view member, const std::string& fault, const std::string& expected,
                         const std::string& got) {
  throw Error(fmt::format("{}: {}\n  expected: {}\n  got:      {}", member, fault, expected, got));
}

std::string names_of(const std::vector<ParameterGroup>& groups) {
  std::string names;
  for (const ParameterGroup& group : groups) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", group.name);
  return names;
}

// Returns the outermost scopes of the graph's parameters, as "generator", "discriminator".
std::string scopes_of(const Graph& graph) {
  std::set<std::string> scopes;
  for (const Variable& variable : graph.variables)
    if (variable.kind == VariableKind::parameter) scopes.insert(variable.name.substr(0, variable.name.find('.')));
  return fmt::format("\"{}\"", fmt::join(scopes, "\", \""));
}

void check_rule(const ParameterGroup& group) {
  if (group.is_frozen == !group.rule) return;
  refuse("ParameterGroup::rule",
         fmt::format("group \"{}\" has {}", group.name, group.is_frozen ? "one and is frozen" : "none"),
         group.is_frozen ? "none in a frozen group" : "an update rule", group.is_frozen ? "a rule" : "an empty one");
}

void check_names(const std::vector<ParameterGroup>& groups) {
  for (const ParameterGroup& group : groups) {
    if (groups.size() > 1 && group.name.empty() && group.owns)
      refuse("ParameterGroup::name", "one of several groups has none, and is not the rest",
             "a name for each group that has ParameterGroup::owns", "\"\"");
    if (std::ranges::count(groups, group.name, &ParameterGroup::name) > 1)
      refuse("ParameterGroup::name", "two groups have the same", "a name of its own for each group", names_of(groups));
  }
  if (!std::ranges::is_sorted(groups, {}, &ParameterGroup::is_frozen))
    refuse("CompileOptions::groups", "a frozen group stands before one that learns", "frozen groups behind the others",
           names_of(groups));
}

void check_losses(const ParameterGroup& group, const std::vector<Objective>& objectives) {
  const auto moves_it = [&](const Objective& o) { return moves(o, group); };
  if (std::ranges::none_of(objectives, moves_it) && !group.is_frozen)
    refuse("CompileOptions::objectives", fmt::format("group \"{}\" has no loss", group.name),
           "an objective of each group", "none");
  const auto is_counted = [&](const Objective& o) { return moves_it(o) && !o.count.empty(); };
  if (std::ranges::any_of(objectives, is_counted) && std::ranges::count_if(objectives, moves_it) > 1)
    refuse("Objective::count", fmt::format("group \"{}\" has several losses, one of them with a count", group.name),
           "one loss in a group that is divided by a count, or no count", "several losses");
}

int32_t owner_of(const Variable& parameter, const std::vector<ParameterGroup>& groups) {
  std::vector<size_t> owners, rest;
  for (size_t g = 0; g < groups.size(); ++g)
    if (!groups[g].owns)
      rest.push_back(g);
    else if (groups[g].owns(parameter))
      owners.push_back(g);
  if (owners.empty()) owners = rest;
  if (owners.size() == 1) return static_cast<int32_t>(owners.front());
  std::vector<ParameterGroup> named;
  for (const size_t g : owners) named.push_back(groups[g]);
  const char* fault = owners.empty() ? "belongs to no group" : "belongs to several groups";
  refuse(
      "ParameterGroup::owns", fmt::format("parameter \"{}\" {}", parameter.name, fault),
      fmt::format("one group that owns it: that of a loss is a scope, with which its parameters' names begin; a loss "
                  "without a group moves all. The groups: {}",
                  names_of(groups)),
      owners.empty() ? "none" : names_of(named));
}

}  // namespace

bool moves(const Objective& objective, const ParameterGroup& group) {
  return !group.is_frozen && (objective.group.empty() || objective.group == group.name);
}

std::function<bool(const Variable& parameter)> owns_scope(const std::string& scope) {
  return [start = scope + "."](const Variable& parameter) { return parameter.name.starts_with(start); };
}

void assign_groups(Graph& graph, const std::vector<Objective>& objectives, const std::vector<ParameterGroup>& groups) {
  for (const Objective& objective : objectives)
    if (!objective.group.empty() && std::ranges::count(groups, objective.group, &ParameterGroup::name) == 0)
      refuse("Objective::group", fmt::format("objective \"{}\" has no such group", objective.name),
             "one of " + names_of(groups), fmt::format("\"{}\"", objective.group));
  check_names(groups);
  for (const ParameterGroup& group : groups) {
    check_rule(group);
    check_losses(group, objectives);
  }
  std::vector<int64_t> owned(groups.size(), 0);
  for (Variable& variable : graph.variables) {
    if (variable.kind != VariableKind::parameter) continue;
    variable.group = owner_of(variable, groups);
    ++owned[static_cast<size_t>(variable.group)];
  }
  bool any_learns = false;
  for (size_t g = 0; g < groups.size(); ++g) any_learns |= owned[g] > 0 && !groups[g].is_frozen;
  if (!any_learns && std::ranges::any_of(groups, &ParameterGroup::is_frozen))
    refuse("ParameterGroup::is_frozen", "no parameter learns", "a parameter in a group that is not frozen",
           names_of(groups));
  for (size_t g = 0; g < groups.size() && groups.size() > 1; ++g)
    if (owned[g] == 0 && !groups[g].name.empty())
      refuse("ParameterGroup::owns", fmt::format("group \"{}\" owns no parameter", groups[g].name),
             "one or more: that of a loss is a scope, with which its parameters' names begin",
             "none; there are parameters under " + scopes_of(graph));
}

}  // namespace kb
