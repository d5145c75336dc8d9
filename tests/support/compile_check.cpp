#include "tests/support/compile_check.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/layers.h"
#include "graph/text.h"
#include "optim/update_rules.h"
#include "tests/interpreters/schedule_interpreter.h"

namespace kb::test {
namespace {

double least_normal(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::min() : dtype == DType::f16 ? 0x1p-14 : 0x1p-126;
}

std::string difference(const Array& expected, const Array& got, const CheckOptions& options) {
  double scale = options.elementwise ? least_normal(expected.type.dtype) : 1;
  for (double x : expected.data)
    if (!options.elementwise && std::isfinite(x)) scale = std::max(scale, std::abs(x));
  if (expected.data.size() != got.data.size())
    return fmt::format("{} elements, expected {}", got.data.size(), expected.data.size());
  for (size_t i = 0; i < expected.data.size(); ++i) {
    double a = expected.data[i], b = got.data[i];
    double own = options.elementwise && std::isfinite(a) ? std::max(scale, std::abs(a)) : scale;
    bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= options.tolerance * own;
    if (!same) return fmt::format("element {}: expected {}, got {}", i, a, b);
  }
  return {};
}

// Returns the graph of the training step after the optimizer's pass, which the graph interpreter runs as the oracle.
Graph oracle_graph(const Graph& graph, const CompileOptions& options, ParameterSpace& space) {
  CompileState state{options, options.space ? *options.space : ParameterSpace{}, {}};
  Graph result = differentiate(graph, state);
  result = add_optimizer(std::move(result), state);
  space = state.space;
  return result;
}

// Returns the types of the compiled programs' variables and inputs, by name.
std::map<std::string, Type> types_by_name(const Compiled& compiled) {
  std::map<std::string, Type> types;
  for (const Variable& variable : compiled.variables) types[variable.name] = variable.type;
  for (const Schedule* schedule : compiled.program.all())
    for (const Node& node : schedule->graph->nodes)
      if (node.op == Op::input) types[node.attrs.text("name")] = node.type();
  return types;
}

}  // namespace

void compare(const Graph& graph, const std::string& what, const Array& expected, const Array& got,
             const CheckOptions& options) {
  std::string text = difference(expected, got, options);
  if (!text.empty()) BOOST_ERROR(fmt::format("{}: {}\n{}", what, text, to_text(graph)));
}

Judged compile_and_interpret(const Graph& graph, const CheckOptions& check) {
  CompileOptions options;
  options.target = check.target;
  options.precision = check.precision;
  if (check.optimizer) options.groups = {{.rule = check.optimizer}};
  options.check_passes = check.check_passes;
  Judged judged{compile(graph, options), {}, {}, {}};
  judged.types = types_by_name(judged.compiled);

  ParameterSpace space;
  Graph oracle = oracle_graph(graph, options, space);
  judged.bindings = check.bindings;
  judged.bindings.merge(random_bindings(oracle, 11));
  for (const Variable& variable : judged.compiled.variables)
    if (variable.kind == VariableKind::table) {
      auto [at, fresh] = judged.bindings.try_emplace(variable.name, initial_value(variable, 0));
      if (!fresh) at->second.data = initial_value(variable, 0).data;
    }
  judged.expected = interpret(oracle, judged.bindings);
  for (auto& [name, array] : judged.bindings)
    if (judged.types.contains(name)) array.type = judged.types.at(name);  // precision may have changed the dtype
  return judged;
}

Compiled check_compiled(const Graph& graph, const CheckOptions& check) {
  auto [compiled, types, bindings, expected] = compile_and_interpret(graph, check);
  StoreBytes store;
  for (const auto& [name, array] : bindings) store[name] = to_bytes(array);
  run_schedule(compiled.program.at(PartRole::prepare), bindings, store);
  std::map<std::string, Array> outputs = run_schedule(compiled.program.at(PartRole::final), bindings, store);
  for (const auto& [name, array] : expected.outputs) compare(graph, "output " + name, array, outputs.at(name), check);
  for (const auto& [name, array] : expected.writes)
    compare(graph, "state " + name, array, from_bytes(types.at(name), store.at(name).data()), check);
  return std::move(compiled);
}

UpdateRule plain_sgd() {
  return [](UpdateContext& c) { return c.parameter - c.scalar("learning_rate") * c.gradient; };
}

UpdateRule momentum_sgd() { return momentum_update; }

Graph small_convnet(int64_t n, Mode mode) {
  Graph g("final", mode);
  Tensor x = input(g, "images", DType::f32, {n, 3, 8, 8}, "NCHW");
  Tensor labels = input(g, "labels", DType::i32, {n}, "N");
  Tensor weights = input(g, "weights", DType::f32, {n}, "N");
  x = relu(batch_norm("bn1", conv2d("conv1", x, 16, {.kernel = 3, .padding = 1})));
  {
    Scope block("block");
    Tensor y = relu(batch_norm("bn1", conv2d("conv1", x, 16, {.kernel = 3, .padding = 1})));
    y = batch_norm("bn2", conv2d("conv2", y, 16, {.kernel = 3, .padding = 1}));
    x = relu(x + y);
  }
  x = max_pool2d(x, {.kernel = 2});
  Tensor loss = cross_entropy(linear("fc", global_avg_pool(x), 10), labels);
  Tensor total = sum(loss * weights);
  g.outputs.push_back({"loss", total.value(), Merge::sum});
  return g;
}

Graph small_signal_net(int64_t n, DType dtype) {
  Graph g("final", Mode::training);
  Tensor x = input(g, "signals", dtype, {n, 3, 24}, "NCL");
  const Tensor weights = input(g, "weights", dtype, {n}, "N");
  x = relu(batch_norm("bn1", conv1d("conv1", x, 16, {.kernel = 3, .padding = 1})));
  x = max_pool1d(x, {.kernel = 2});
  x = batch_norm("bn2", conv1d("conv2", x, 32, {.kernel = 5, .stride = 2, .padding = 2, .bias = true}));
  x = conv1d("conv3", avg_pool1d(x, {.kernel = 2}), 32, {.kernel = 3, .bias = true});
  const Tensor y = linear("fc", global_avg_pool(x), 5);
  g.outputs.push_back({"loss", sum(sum(y * y, {1}) * weights).value(), Merge::sum});
  return g;
}

}  // namespace kb::test
