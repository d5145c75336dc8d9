#include "recipes/charts/optimizer_paths.h"

#include <fmt/format.h>

#include <cmath>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "optim/optimizer.h"

namespace kb {
namespace {

constexpr int64_t kWeights = 32, kBiases = 4;
constexpr double kWeightDecay = 0.1;
constexpr double kWarmupStart = 0.1;  // first rate of the warmup, as a share of the learning rate
constexpr const char* kWeight = "layer.weight";
constexpr const char* kBias = "layer.bias";

struct Variant {
  std::string name;
  const Optimizer* optimizer = nullptr;
  double learning_rate = 0;
  std::vector<NamedScalar> hyper;
};

const Optimizer& optimizer_named(std::string_view name) {
  for (const Optimizer& row : optimizers())
    if (row.name == name) return row;
  throw InternalError(fmt::format("optimizer_paths: there is no optimizer {}", name));
}

// Returns an optimizer with the usual rate of its row, except lars-plain: it has no trust coefficient, and gets the
// rate of lars times that of lars.
Variant variant(std::string_view name, const std::string& flags = "", const std::vector<NamedScalar>& more = {}) {
  Variant result{std::string(name) + flags, &optimizer_named(name), 0, {{"weight_decay", kWeightDecay}}};
  result.hyper.insert(result.hyper.end(), more.begin(), more.end());
  result.learning_rate = result.optimizer->learning_rate;
  if (name == "lars-plain") {
    const Optimizer& lars = optimizer_named("lars");
    for (const HyperParameter& hyper : lars.hyper_parameters())
      if (hyper.name == "trust") result.learning_rate = lars.learning_rate * hyper.value;
  }
  return result;
}

std::vector<Variant> variants() {
  std::vector<Variant> result;
  for (const Optimizer& row : optimizers())
    if (!row.takes_matrices) result.push_back(variant(row.name));
  result.push_back(variant("lars", " --skip-lr 0.1", {{"skip_lr", 0.1}}));
  result.push_back(variant("lars-mlperf", " --nesterov 1", {{"nesterov", 1}}));
  return result;
}

// Returns noise in [-size, size), a function of its arguments alone.
double noise(double size, int64_t element, int64_t stream) {
  const uint32_t counter[4] = {static_cast<uint32_t>(element), static_cast<uint32_t>(stream), 0, 0};
  const uint32_t key[2] = {1, 0};
  return size * (std::ldexp(philox(counter, key).word[0], -31) - 1);
}

// Returns a gradient: a direction that all steps share, and a part that is new in each. Its norm is about 1 for the
// weight.
std::vector<double> gradient(int64_t elements, int64_t step) {
  std::vector<double> result;
  for (int64_t i = 0; i < elements; ++i)
    result.push_back(noise(0.25, i, 1000 + elements) + noise(0.15, i, step * 100 + elements));
  return result;
}

// Returns the weight at the start; its norm is about 2.
std::vector<double> first_weight() {
  std::vector<double> result;
  for (int64_t i = 0; i < kWeights; ++i) result.push_back(noise(0.6, i, 2000));
  return result;
}

// Returns a graph of the loss: the sum of the products of parameters and inputs, so that the gradients are the inputs,
// for any parameters.
Graph linear_loss() {
  Graph graph("optimizer_paths");
  Tensor loss;
  for (const auto& [name, role, elements] :
       {std::tuple{kWeight, Role::weight, kWeights}, std::tuple{kBias, Role::bias, kBiases}}) {
    const Tensor w = parameter(graph, name, role, {DType::f64, {elements}, ""}, {});
    const Tensor term = sum(w * input(graph, std::string("gradient of ") + name, DType::f64, {elements}));
    loss = loss.valid() ? loss + term : term;
  }
  graph.outputs.push_back({"loss", loss.value(), Merge::sum});
  return graph;
}

// A run of the linear loss: the graph of its training step, before the compiler simplifies it, and the run's state.
class PathRun {
 public:
  explicit PathRun(const Variant& variant) {
    CompileOptions options;
    options.groups = {{.rule = update_rule(*variant.optimizer)}};
    CompileState state{options, {}, {}};
    graph_ = add_optimizer(differentiate(linear_loss(), state), state);
    space_ = state.space;
    for (const Variable& variable : graph_.variables) state_[variable.name] = initial_value(variable, 0);
    const std::vector<double> weight = first_weight();
    std::copy(weight.begin(), weight.end(), parameters().begin() + space_.find(kWeight)->offset);
    start_ = parameters();
  }

  void step(int64_t number, std::span<const NamedScalar> scalars) {
    Bindings bindings = state_;
    for (const Node& node : graph_.nodes) {
      if (node.op != Op::input) continue;
      const std::string& name = node.attrs.text("name");
      for (const NamedScalar& scalar : scalars)
        if (scalar.name == name) bindings[name] = {node.type(), {scalar.value}};
      if (node.type().rank() > 0) bindings[name] = {node.type(), gradient(node.type().elements(), number)};
    }
    for (auto& [name, value] : interpret(graph_, bindings).writes) state_[name] = std::move(value);
  }

  double distance(const char* parameter) {
    const Segment& segment = *space_.find(parameter);
    double squares = 0;
    for (int64_t i = segment.offset; i < segment.offset + segment.length; ++i) {
      const double moved = parameters()[static_cast<size_t>(i)] - start_[static_cast<size_t>(i)];
      squares += moved * moved;
    }
    return std::sqrt(squares);
  }

 private:
  std::vector<double>& parameters() { return state_.at("flat.parameters").data; }

  Graph graph_;
  ParameterSpace space_;
  Bindings state_;
  std::vector<double> start_;
};

OptimizerPath path_of(const Variant& variant) {
  StepScalars scalars(LearningRate({.learning_rate = variant.learning_rate,
                                    .warmup_epochs = kPathSteps / 2,
                                    .warmup_start = kWarmupStart * variant.learning_rate,
                                    .total_steps = kPathSteps}),
                      *variant.optimizer, variant.hyper);
  OptimizerPath path{variant.name, variant.learning_rate, {0}, {0}};
  PathRun run(variant);
  for (int64_t step = 0; step < kPathSteps; ++step) {
    run.step(step, scalars.at(step));
    path.weight.push_back(run.distance(kWeight));
    path.bias.push_back(run.distance(kBias));
  }
  return path;
}

}  // namespace

std::vector<OptimizerPath> optimizer_paths() {
  std::vector<OptimizerPath> paths;
  for (const Variant& variant : variants()) paths.push_back(path_of(variant));
  return paths;
}

std::string paths_table(const std::vector<OptimizerPath>& paths) {
  constexpr size_t kShown[] = {1, 2, 5, 10};
  std::string head = "| optimizer | rate |", rule = "|---|---|", rows;
  for (const char* what : {"weight", "bias"})
    for (const size_t step : kShown) {
      head += step == 1 ? fmt::format(" {} 1 |", what) : fmt::format(" {} |", step);
      rule += "---|";
    }
  for (const OptimizerPath& path : paths) {
    rows += fmt::format("| `{}` | {:g} |", path.name, path.learning_rate);
    for (const std::vector<double>* distances : {&path.weight, &path.bias})
      for (const size_t step : kShown) rows += fmt::format(" {:.3g} |", distances->at(step));
    rows += "\n";
  }
  return head + "\n" + rule + "\n" + rows;
}

std::string with_paths_table(const std::string& text, const std::string& table) {
  const size_t begin = text.find(kPathsBegin), end = text.find(kPathsEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw Error(fmt::format("expected the lines\n{}{}", kPathsBegin, kPathsEnd));
  const size_t from = begin + std::string_view(kPathsBegin).size();
  return text.substr(0, from) + "\n" + table + "\n" + text.substr(end);
}

}  // namespace kb
