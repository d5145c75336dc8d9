// differentiate: takes a training graph with a scalar output for every objective. Leaves a graph whose losses are
// summed over the workers, with an output "grad.NAME" for every parameter that learns: the gradient of its group's
// losses, summed over the workers. A graph for inference is left as it is. The pass stands first, so that every later
// pass sees the whole step. In f16 gradients are taken of the loss times a scale (loss_scale.h).
#include <fmt/format.h>

#include <algorithm>

#include "compiler/passes/loss_scale.h"
#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/scope.h"

namespace kb {
namespace {

Tensor sum_over_workers(const Tensor& x, const Tensor& like) {
  const Node& node = x.graph().node(like.value());
  const Origin origin(x.graph(), node.scope, node.frame);
  return worker_sum(x);
}

size_t output_at(const Graph& graph, const std::string& name) {
  const auto at = std::ranges::find(graph.outputs, name, &Output::name);
  if (at == graph.outputs.end())
    throw Error(
        fmt::format("graph \"{}\": expected an output \"{}\" to train on, got none of that name", graph.name, name));
  return static_cast<size_t>(at - graph.outputs.begin());
}

// Returns the index of each objective's output, in the order of the objectives.
std::vector<size_t> loss_outputs(const Graph& graph, const std::vector<Objective>& objectives) {
  std::vector<size_t> found;
  for (const Objective& objective : objectives) found.push_back(output_at(graph, objective.name));
  return found;
}

// Losses that move the same groups together.
struct Course {
  std::vector<size_t> objectives;  // indices into CompileOptions::objectives
  std::vector<int32_t> groups;     // indices into CompileOptions::groups
};

// Returns the courses of all groups that learn, each group in one of them.
std::vector<Course> courses_of(const CompileOptions& options) {
  std::vector<Course> courses;
  for (size_t g = 0; g < options.groups.size(); ++g) {
    std::vector<size_t> own;
    for (size_t o = 0; o < options.objectives.size(); ++o)
      if (moves(options.objectives[o], options.groups[g])) own.push_back(o);
    if (own.empty()) continue;
    auto at = std::ranges::find(courses, own, &Course::objectives);
    if (at == courses.end()) at = courses.insert(at, {own, {}});
    at->groups.push_back(static_cast<int32_t>(g));
  }
  return courses;
}

// Adds the gradients of `loss` with respect to the parameters of the groups, as outputs.
void add_gradients(Graph& graph, const Tensor& loss, const std::vector<int32_t>& groups) {
  std::vector<Tensor> parameters;
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables)
    if (variable.kind == VariableKind::parameter && std::ranges::count(groups, variable.group) > 0)
      names.push_back(variable.name);
  for (const std::string& name : names) parameters.emplace_back(graph, graph.read(name));
  const std::vector<Tensor> found = gradients(loss, parameters);
  for (size_t i = 0; i < found.size(); ++i) {
    const Tensor total = sum_over_workers(found[i], parameters[i]);
    graph.outputs.push_back({"grad." + names[i], total.value(), Merge::sum, OutputKind::gradient, names[i]});
  }
}

// Returns the sum of a course's losses. `losses` are the outputs of all objectives.
Tensor loss_of(Graph& graph, const Course& course, const std::vector<size_t>& losses) {
  Tensor total;
  for (const size_t o : course.objectives) {
    const Tensor loss(graph, graph.outputs[losses[o]].value);
    total = total.valid() ? total + loss : loss;
  }
  return total;
}

// Sums the output of a loss over the workers, and divides it by its count if it has one.
void sum_loss(Graph& graph, size_t at, const std::string& count) {
  if (graph.outputs[at].kind == OutputKind::loss) return;
  const Tensor own(graph, graph.outputs[at].value);
  Tensor loss = sum_over_workers(own, own);
  if (!count.empty()) {
    Output& counted = graph.outputs[output_at(graph, count)];
    const Tensor total = divisor_of(sum_over_workers({graph, counted.value}, own));
    counted.value = total.value();
    loss = loss / total;
  }
  graph.outputs[at].kind = OutputKind::loss;
  graph.outputs[at].value = loss.value();
}

}  // namespace

Graph differentiate(Graph graph, CompileState& state) {
  const CompileOptions& options = state.options;
  if (options.groups.empty()) return graph;
  const std::vector<size_t> losses = loss_outputs(graph, options.objectives);
  assign_groups(graph, options.objectives, options.groups);
  for (const Course& course : courses_of(options)) {
    const Tensor loss = loss_of(graph, course, losses);
    const bool scales = options.precision == Precision::f16;
    add_gradients(graph, scales ? scaled_loss(loss) : loss, course.groups);
  }
  for (size_t o = 0; o < losses.size(); ++o) sum_loss(graph, losses[o], options.objectives[o].count);
  return graph;
}

}  // namespace kb
