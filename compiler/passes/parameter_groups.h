// Says what a training graph is trained on: its losses, and the groups of parameters that each loss moves.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/update_rule.h"

namespace kb {

// A loss that is minimised. Its gradient flows to the parameters of its group alone.
struct Objective {
  std::string name = "loss";  // name of the graph's scalar output [] that is the loss
  std::string group = {};     // a ParameterGroup::name; empty: the loss moves all groups
  // Name of the graph's scalar output [] by which the loss is divided, both summed over the workers, and with the loss
  // its gradient; the groups that it moves have no other loss then. Empty: the loss is not divided.
  std::string count = {};
};

// Parameters that one rule updates. All groups are updated in the same step, from the values before it. Where there are
// several, a group's name stands before the scalars of its rule: "generator.learning_rate".
struct ParameterGroup {
  std::string name = {};  // empty: nothing stands before the scalars; one of several groups may be called so
  UpdateRule rule = {};
  std::vector<Role> no_decay = kSkippedRoles, no_adapt = kSkippedRoles;
  // Tells whether the group owns a parameter. Empty: the group owns all parameters that no other group owns.
  std::function<bool(const Variable& parameter)> owns = {};
  // Whether the group stays as it is: it has no rule, no slots and no gradient. Such groups stand behind the others.
  bool is_frozen = false;
};

// Returns whether the gradient of the loss flows to the group.
bool moves(const Objective& objective, const ParameterGroup& group);

// Returns a function for ParameterGroup::owns that picks the parameters made under a scope such as "generator" or
// "net.head".
std::function<bool(const Variable& parameter)> owns_scope(const std::string& scope);

// Sets Variable::group of every parameter to the index of the group that owns it. Throws Error, naming the wrong
// member, if no group or several own a parameter; if a group lacks a rule, an objective or a name of its own, or,
// unless it is called "", a parameter; or if an objective names no group.
void assign_groups(Graph& graph, const std::vector<Objective>& objectives, const std::vector<ParameterGroup>& groups);

}  // namespace kb
