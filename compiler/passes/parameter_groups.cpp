#include "compiler/passes/parameter_groups.h"

#include <fmt/format.h>

#include <algorithm>

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

void check_group(const ParameterGroup& group, const std::vector<Objective>& objectives,
                 const std::vector<ParameterGroup>& groups) {
  const auto of_this_name = [&](const ParameterGroup& other) { return other.name == group.name; };
  if (!group.rule)
    refuse("ParameterGroup::rule", fmt::format("group \"{}\" has none", group.name), "an update rule", "an empty one");
  if (groups.size() > 1 && group.name.empty())
    refuse("ParameterGroup::name", "one of several groups has none", "a name for each group", "\"\"");
  if (std::count_if(groups.begin(), groups.end(), of_this_name) > 1)
    refuse("ParameterGroup::name", "two groups have the same", "a name of its own for each group", names_of(groups));
  if (std::none_of(objectives.begin(), objectives.end(), [&](const Objective& o) { return o.group == group.name; }))
    refuse("CompileOptions::objectives", fmt::format("group \"{}\" has no loss", group.name),
           "an objective of each group", "none");
  const auto moves = [&](const Objective& o) { return o.group == group.name; };
  const auto is_counted = [&](const Objective& o) { return moves(o) && !o.count.empty(); };
  if (std::ranges::any_of(objectives, is_counted) && std::ranges::count_if(objectives, moves) > 1)
    refuse("Objective::count", fmt::format("group \"{}\" has several losses, one of them with a count", group.name),
           "one loss in a group that is divided by a count, or no count", "several losses");
}

int32_t owner_of(const std::string& parameter, const std::vector<ParameterGroup>& groups) {
  std::vector<ParameterGroup> owners;
  int32_t owner = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].owns && !groups[g].owns(parameter)) continue;
    owners.push_back(groups[g]);
    owner = static_cast<int32_t>(g);
  }
  if (owners.size() != 1)
    refuse("ParameterGroup::owns", fmt::format("parameter \"{}\" has not one owner", parameter), "one of the groups",
           owners.empty() ? "none" : names_of(owners));
  return owner;
}

}  // namespace

std::function<bool(const std::string& parameter)> owns_scope(const std::string& scope) {
  return [start = scope + "."](const std::string& parameter) { return parameter.starts_with(start); };
}

void assign_groups(Graph& graph, const std::vector<Objective>& objectives, const std::vector<ParameterGroup>& groups) {
  for (const Objective& objective : objectives)
    if (std::none_of(groups.begin(), groups.end(), [&](const ParameterGroup& g) { return g.name == objective.group; }))
      refuse("Objective::group", fmt::format("objective \"{}\" has no such group", objective.name),
             "one of " + names_of(groups), fmt::format("\"{}\"", objective.group));
  for (const ParameterGroup& group : groups) check_group(group, objectives, groups);
  std::vector<int64_t> owned(groups.size(), 0);
  for (Variable& variable : graph.variables) {
    if (variable.kind != VariableKind::parameter) continue;
    variable.group = owner_of(variable.name, groups);
    ++owned[static_cast<size_t>(variable.group)];
  }
  for (size_t g = 0; g < groups.size() && groups.size() > 1; ++g)
    if (owned[g] == 0)
      refuse("ParameterGroup::owns", fmt::format("group \"{}\" owns no parameter", groups[g].name), "one or more",
             "none");
}

}  // namespace kb
