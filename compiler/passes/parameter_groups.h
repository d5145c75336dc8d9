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
  std::string group = {};     // a ParameterGroup::name
  // Name of the graph's scalar output [] by which the loss is divided, both summed over the workers, and with the loss
  // its gradient; the group has no other loss then. Empty: the loss is not divided.
  std::string count = {};
};

// Parameters that one rule updates. All groups are updated in the same step, from the values before it. Where there are
// several, a group's name stands before the scalars of its rule: "generator.learning_rate".
struct ParameterGroup {
  std::string name = {};
  UpdateRule rule = {};
  std::vector<Role> no_decay = kSkippedRoles, no_adapt = kSkippedRoles;
  std::function<bool(const std::string& parameter)> owns =
      {};  // tells from a parameter's name whether the group owns it; empty: owns all parameters
};

// Returns a function for ParameterGroup::owns that picks the parameters made under a scope such as "generator" or
// "net.head".
std::function<bool(const std::string& parameter)> owns_scope(const std::string& scope);

// Sets Variable::group of every parameter to the index of the group that owns it. Throws Error, naming the wrong
// member, if no group or several own a parameter; if a group lacks a rule, a parameter, an objective or a name of its
// own; or if an objective names no group.
void assign_groups(Graph& graph, const std::vector<Objective>& objectives, const std::vector<ParameterGroup>& groups);

}  // namespace kb
