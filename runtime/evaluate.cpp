#include "runtime/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/session.h"

namespace kb {
namespace {

// Returns names and types as error texts show them: "\"rate\" f32[], \"x\" f32[N=4,C=3]".
std::string names_and_types(const std::map<std::string, Type>& types) {
  std::string text;
  for (const auto& [name, type] : types)
    text += fmt::format("{}\"{}\" {}", text.empty() ? "" : ", ", name, to_string(type));
  return text.empty() ? "none" : text;
}

std::map<std::string, Type> input_types(const Graph& graph) {
  std::map<std::string, Type> types;
  for (const Node& node : graph.nodes)
    if (node.op == Op::input) types[node.attrs.text("name")] = node.type();
  return types;
}

std::map<std::string, Type> kept_types(const Graph& graph) {
  std::map<std::string, Type> types;
  for (const Variable& variable : graph.variables)
    if (StateStore::keeps(variable.kind)) types[variable.name] = variable.type;
  return types;
}

std::string quoted_title(const Graph& graph) { return fmt::format("graph \"{}\"", graph.name); }

void check_evaluable(const Graph& graph) {
  if (graph.outputs.empty())
    throw Error(quoted_title(graph) +
                ": nothing to evaluate\n  expected: one output or more\n  got:      none\n  hint:     "
                "graph.outputs.push_back({\"y\", y.value()})");
}

// Returns whether C++ elements may fill or read a tensor of `dtype`; `elements` is the first dtype that their C++ type
// stands for.
bool stands_for(DType elements, DType dtype) {
  return elements == dtype || (elements == DType::f32 && is_low_precision(dtype)) ||
         (elements == DType::u8 && dtype == DType::boolean);
}

// Returns "elements of type float", for the C++ type that stands for `dtype`.
std::string elements_text(DType dtype) {
  std::string type = dtype == DType::f64 ? "double" : dtype == DType::boolean ? "bool" : "float";
  if (is_integer(dtype)) type = fmt::format("{}int{}_t", is_signed(dtype) ? "" : "u", info(dtype).bits);
  return "elements of type " + type;
}

// Throws Error for a value that does not fit its tensor.
[[noreturn]] void refuse(const std::string& name, std::string_view fault, const Type& type, std::string_view expected,
                         std::string_view got) {
  throw Error(fmt::format("value of \"{}\", which is {}: {}\n  expected: {}\n  got:      {}", name, to_string(type),
                          fault, expected, got));
}

void check_value(const std::string& name, const Type& type, const TensorValues& values) {
  if (values.is_number()) {
    if (type.rank() != 0)
      refuse(name, "one number for a tensor", type, fmt::format("{} elements", type.elements()),
             fmt::format("{}", values[0]));
    if (!is_float(type.dtype) && round_to(type.dtype, values[0]) != values[0])
      refuse(name, "no number of this dtype", type, fmt::format("a number that {} holds", kb::name(type.dtype)),
             fmt::format("{}", values[0]));
    return;
  }
  if (!stands_for(values.dtype(), type.dtype))
    refuse(name, "another dtype", type, elements_text(type.dtype), elements_text(values.dtype()));
  if (values.size() != type.elements())
    refuse(name, "another number of elements", type, fmt::format("{}", type.elements()),
           fmt::format("{}", values.size()));
  if (values.shape() != nullptr && *values.shape() != type.shape)
    refuse(name, "another shape", type, shape_text({type.dtype, type.shape, ""}),
           shape_text({type.dtype, *values.shape(), ""}));
  if (type.dtype != DType::boolean) return;
  for (int64_t i = 0; i < values.size(); ++i)
    if (values[i] > 1) refuse(name, "no boolean", type, "0 or 1", fmt::format("{} at element {}", values[i], i));
}

void check_indices(const Graph& graph, const NamedValues& given) {
  for (const Node& node : graph.nodes) {
    if (node.op != Op::input || !node.attrs.has("below")) continue;
    const std::string& name = node.attrs.text("name");
    const TensorValues& values = given.at(name);
    for (int64_t i = 0; i < values.size(); ++i)
      if (values[i] < 0 || values[i] >= static_cast<double>(node.attrs.integer("below")))
        refuse(name, "an index out of range", node.type(), fmt::format("0 to {}", node.attrs.integer("below") - 1),
               fmt::format("{} at element {}", values[i], i));
  }
}

void fill(const Type& type, std::byte* out, const TensorValues& values) {
  for (int64_t i = 0; i < values.size(); ++i) store_element(type.dtype, out, i, values[i]);
}

Array array_of(const TensorView& view) {
  Array array{view.type, std::vector<double>(static_cast<size_t>(view.type.elements()))};
  for (size_t i = 0; i < array.data.size(); ++i)
    array.data[i] = load_element(view.type.dtype, view.data, static_cast<int64_t>(i));
  return array;
}

Compiled compile_for(const Backend& backend, const Graph& graph) {
  check_evaluable(graph);
  CompileOptions options;
  options.target = backend.target();
  return compile(graph, options);
}

}  // namespace

double GraphResults::number(const std::string& output) const {
  const Array& array = find("output", outputs_, output);
  if (array.data.empty())
    throw Error(fmt::format("output \"{}\", which is {}, is empty", output, to_string(array.type)));
  return array.data[0];
}

const Array& GraphResults::find(std::string_view kind, const Arrays& arrays, const std::string& name) {
  const auto at = arrays.find(name);
  if (at != arrays.end()) return at->second;
  std::map<std::string, Type> types;
  for (const auto& [known, array] : arrays) types[known] = array.type;
  throw Error(fmt::format("no {} is named so\n  expected: {}\n  got:      \"{}\"", kind, names_and_types(types), name));
}

void GraphResults::check_dtype(DType wanted, const Array& array, const std::string& name) {
  if (stands_for(wanted, array.type.dtype)) return;
  throw Error(fmt::format("result \"{}\", which is {}: another dtype\n  expected: {}\n  got:      {}", name,
                          to_string(array.type), elements_text(array.type.dtype), elements_text(wanted)));
}

struct CompiledGraph::Loaded {
  Loaded(const Graph& given, const EvaluateOptions& options)
      : graph(given),
        inputs(input_types(graph)),
        variables(kept_types(graph)),
        own_backend(options.backend ? nullptr : make_cpu_backend({})),
        backend(options.backend ? *options.backend : *own_backend),
        store(backend),
        session(backend, store, compile_for(backend, graph)) {
    store.initialise(options.seed);
  }

  void check(const NamedValues& given) const {
    for (const auto& [name, type] : inputs)
      if (!given.contains(name))
        throw Error(fmt::format("{}: input \"{}\" has no value\n  expected: values of {}\n  got:      {} given",
                                quoted_title(graph), name, names_and_types(inputs), given.size()));
    for (const auto& [name, values] : given) {
      const auto at = inputs.find(name), variable = variables.find(name);
      if (at == inputs.end() && variable == variables.end())
        throw Error(
            fmt::format("{}: neither an input nor a variable is named \"{}\"\n  inputs:     {}\n  variables:  {}",
                        quoted_title(graph), name, names_and_types(inputs), names_and_types(variables)));
      check_value(name, at == inputs.end() ? variable->second : at->second, values);
    }
    check_indices(graph, given);
  }

  void set(const NamedValues& given) {
    std::vector<NamedTensor> tensors;
    for (const auto& [name, values] : given) {
      if (const auto variable = variables.find(name); variable != variables.end()) {
        const Type& type = variable->second;
        NamedTensor& tensor =
            tensors.emplace_back(name, type, std::vector<std::byte>(static_cast<size_t>(type.bytes())));
        fill(type, tensor.data.data(), values);
      } else if (session.has_input(name)) {  // a tensor that no output depends on is not in the program
        fill(session.input_type(name), session.input(name), values);
      }
    }
    store.load(tensors);
  }

  std::map<std::string, Array> outputs() const {
    std::map<std::string, Array> arrays;
    for (const Output& output : graph.outputs) {
      Array& array = arrays[output.name];
      array.type = graph.type(output.value);
      session.read(output.name, array.data);
    }
    return arrays;
  }

  std::map<std::string, Array> states() const {
    std::map<std::string, Array> arrays;
    if (graph.writes.empty()) return arrays;
    for (const TensorView& view : store.views())
      if (std::any_of(graph.writes.begin(), graph.writes.end(),
                      [&](const StateWrite& write) { return write.variable == view.name; }))
        arrays[view.name] = array_of(view);
    return arrays;
  }

  const Graph graph;
  const std::map<std::string, Type> inputs, variables;
  const std::unique_ptr<Backend> own_backend;
  Backend& backend;
  StateStore store;
  Session session;
};

CompiledGraph::CompiledGraph(const Graph& graph, const EvaluateOptions& options)
    : loaded_(std::make_unique<Loaded>(graph, options)) {}

CompiledGraph::~CompiledGraph() = default;

GraphResults CompiledGraph::run(const NamedValues& values) {
  loaded_->check(values);
  loaded_->set(values);
  loaded_->session.step();
  loaded_->session.wait();
  return {loaded_->outputs(), loaded_->states()};
}

GraphResults evaluate(const Graph& graph, const NamedValues& values, const EvaluateOptions& options) {
  return CompiledGraph(graph, options).run(values);
}

}  // namespace kb
