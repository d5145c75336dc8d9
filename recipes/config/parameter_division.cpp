#include "recipes/config/parameter_division.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/report.h"
#include "recipes/config/learning.h"
#include "recipes/config/values.h"
#include "recipes/task/suggest.h"

namespace kb {
namespace {

struct BuiltInGroup {
  const char* name;
  bool (*owns)(const Variable& parameter);
};

constexpr BuiltInGroup kBuiltIn[] = {
    {"matrices", [](const Variable& p) { return p.role == Role::weight && p.type.rank() >= 2; }},
    {"embeddings", [](const Variable& p) { return p.role == Role::embedding; }},
    {"norms", [](const Variable& p) { return p.role == Role::norm_scale || p.role == Role::norm_shift; }},
    {"biases", [](const Variable& p) { return p.role == Role::bias; }}};

const BuiltInGroup* find_built_in(std::string_view name) {
  const auto at = std::ranges::find(kBuiltIn, name, &BuiltInGroup::name);
  return at == std::end(kBuiltIn) ? nullptr : &*at;
}

// Splits "matrices-conv1-fc" into a role's group and the scopes that it leaves out. A name of a scope is one word.
std::vector<std::string> words_of_group(const std::string& name) {
  std::vector<std::string> words = split_at(name, '-');
  return !words.empty() && find_built_in(words.front()) ? words : std::vector{name};
}

bool is_under(const Variable& parameter, const std::string& scope) { return parameter.name.starts_with(scope + "."); }

std::vector<Variable> parameters_in(const Graph& graph) {
  std::vector<Variable> parameters;
  std::ranges::copy_if(graph.variables, std::back_inserter(parameters),
                       [](const Variable& variable) { return variable.kind == VariableKind::parameter; });
  return parameters;
}

// Returns the scopes that own parameters: of "net.fc.weight", "net" and "net.fc".
std::vector<std::string> scopes_of(const std::vector<Variable>& parameters) {
  std::vector<std::string> scopes;
  for (const Variable& parameter : parameters)
    for (size_t dot = parameter.name.find('.'); dot != std::string::npos; dot = parameter.name.find('.', dot + 1))
      if (std::string scope = parameter.name.substr(0, dot); std::ranges::count(scopes, scope) == 0)
        scopes.push_back(std::move(scope));
  return scopes;
}

[[noreturn]] void refuse_name(const std::string& name, const std::vector<std::string>& scopes) {
  std::vector<std::string> names = built_in_groups(), outer = scopes;
  names.insert(names.end(), scopes.begin(), scopes.end());
  std::erase_if(outer, [](const std::string& scope) { return scope.find('.') != std::string::npos; });
  throw Error(
      fmt::format("group_learning: '{}' owns none of the model's parameters{}\n  expected: one of {}, or a scope such "
                  "as {}\n  got:      '{}'",
                  name, did_you_mean(name, names), fmt::join(built_in_groups(), ", "), fmt::join(outer, ", "), name));
}

void check_name(const std::string& name, const std::vector<Variable>& parameters) {
  const std::vector<std::string> scopes = scopes_of(parameters), words = words_of_group(name);
  if (find_built_in(words.front()) && std::ranges::count(scopes, words.front()) > 0)
    throw Error(
        fmt::format("group_learning: '{0}' is a scope of the model and a group by role\n  expected: a name that means "
                    "one of them\n  "
                    "got:      '{0}'\n  hint:     another name for the scope",
                    words.front()));
  for (size_t i = 1; i < words.size(); ++i)
    if (std::ranges::count(scopes, words[i]) == 0) refuse_name(words[i], scopes);
  if (std::ranges::none_of(parameters, owner_of_group(name))) refuse_name(name, scopes);
}

// Returns the index of the row that owns the parameter.
size_t owner_among(const std::vector<GroupLearning>& rows, const Variable& parameter) {
  std::vector<size_t> owners;
  size_t rest = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].group.empty())
      rest = i;
    else if (owner_of_group(rows[i].group)(parameter))
      owners.push_back(i);
  if (owners.size() > 1)
    throw Error(
        fmt::format("group_learning: two groups own the parameter \"{}\"\n  expected: groups without a common "
                    "parameter\n  got:      "
                    "'{}' and '{}'",
                    parameter.name, rows[owners[0]].group, rows[owners[1]].group));
  return owners.empty() ? rest : owners.front();
}

void check_matrices(const Variable& parameter, const GroupLearning& row, const Rules& own) {
  const std::string& optimizer = row.learning.optimizer;
  if (parameter.type.rank() >= 2 || is_frozen(row.learning) ||
      !find_optimizer(own.optimizers, optimizer).takes_matrices)
    return;
  throw Error(fmt::format(
      "learning.optimizer = {0}: it takes matrices, and the parameter \"{1}\" is none\n  expected: parameters of two "
      "axes or more{2}\n  got:      {3}\n  hint:     learning.optimizer = adamw, and group_learning = \"matrices "
      "--optimizer {0}\"",
      optimizer, parameter.name, row.group.empty() ? "" : fmt::format(" in the group '{}'", row.group),
      shape_text(parameter.type)));
}

// Returns a text such as "'biases', 'matrices' and the rest".
std::string names_text(const std::vector<GroupLearning>& rows) {
  std::vector<std::string> names;
  for (const GroupLearning& row : rows)
    if (!row.group.empty()) names.push_back(fmt::format("'{}'", row.group));
  const bool has_rest = std::ranges::any_of(rows, [](const GroupLearning& row) { return row.group.empty(); });
  return fmt::format("{}{}", fmt::join(names, ", "), has_rest ? " and the rest" : "");
}

}  // namespace

std::vector<std::string> built_in_groups() {
  std::vector<std::string> names;
  for (const BuiltInGroup& group : kBuiltIn) names.emplace_back(group.name);
  return names;
}

std::function<bool(const Variable& parameter)> owner_of_group(const std::string& name) {
  const std::vector<std::string> words = words_of_group(name);
  const BuiltInGroup* group = find_built_in(words.front());
  if (!group) return [name](const Variable& parameter) { return is_under(parameter, name); };
  return [group, words](const Variable& parameter) {
    return group->owns(parameter) && std::none_of(words.begin() + 1, words.end(),
                                                  [&](const std::string& scope) { return is_under(parameter, scope); });
  };
}

void check_division(const Graph& graph, const std::vector<GroupLearning>& rows, const Rules& own) {
  const std::vector<Variable> parameters = parameters_in(graph);
  for (const GroupLearning& row : rows)
    if (!row.group.empty()) check_name(row.group, parameters);
  bool any_learns = false;
  for (const Variable& parameter : parameters) {
    const GroupLearning& row = rows[owner_among(rows, parameter)];
    check_matrices(parameter, row, own);
    any_learns |= !is_frozen(row.learning);
  }
  if (!any_learns && !parameters.empty())
    throw Error(fmt::format(
        "group_learning: no parameter learns\n  expected: a parameter in a group that is not frozen\n  got: "
        "     {}, all frozen",
        names_text(rows)));
}

void check_common_point(const TrainConfig& config, const std::vector<GroupLearning>& rows, const Rules& own) {
  const auto learns = [](const GroupLearning& row) { return !is_frozen(row.learning); };
  if (std::ranges::count_if(rows, learns) < 2) return;
  for (const GroupLearning& row : rows)
    if (learns(row) && find_optimizer(own.optimizers, row.learning.optimizer).schedule_free)
      throw Error(
          fmt::format("learning.optimizer = {}: expected it to update all parameters that learn, whose gradients it "
                      "takes at a point of its own, got the groups {}",
                      row.learning.optimizer, names_text(rows)));
  if (config.judging.eval_ema)
    throw Error(fmt::format("judging.eval_ema: expected one group of parameters that learn, got several: {}",
                            names_text(rows)));
}

}  // namespace kb
