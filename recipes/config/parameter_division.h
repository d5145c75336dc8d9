// Groups into which a user divides the parameters of a model whose losses move all of them
// (TrainConfig::group_learning): built-in groups by role, and scopes. What no group names is the rest.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "recipes/config/train_config.h"
#include "recipes/task/rules.h"

namespace kb {

// Names of the built-in groups. matrices: weights of two axes or more, filters too, but no embeddings; norms: scales
// and shifts.
std::vector<std::string> built_in_groups();

// Returns a function for ParameterGroup::owns: that of the built-in group, or of the scope of this name. A built-in
// group leaves out scopes whose names stand behind it, "matrices-fc".
std::function<bool(const Variable& parameter)> owner_of_group(const std::string& name);

// Throws Error for a group that owns no parameter of the graph or shares one with another, for a name that is both a
// built-in group and a scope, where a group that learns by an optimizer of matrices owns something else, and where no
// parameter learns. `rows` are the groups of the graph, the rest under the name "".
void check_division(const Graph& graph, const std::vector<GroupLearning>& rows, const Rules& own);
// Throws Error where several groups learn and one does so by a schedule-free optimizer, or averages are evaluated:
// these read the parameters at a point beside them, which groups do not have in common.
void check_common_point(const TrainConfig& config, const std::vector<GroupLearning>& rows, const Rules& own);

}  // namespace kb
