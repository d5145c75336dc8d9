#include <cmath>
#include <numbers>

#include "graph/building.h"
#include "graph/sub_network.h"

namespace kb {
namespace {

Tensor add_input(Graph& graph, const std::string& name, const char* kind, Type type) {
  return {graph, graph.add(Op::input, {},
                           {{"name", name},
                            {"kind", std::string(kind)},
                            {"dtype", type.dtype},
                            {"shape", std::move(type.shape)},
                            {"names", std::move(type.names)}})};
}

// Returns row-major strides of the elements inside a sample; axis 0, the samples, has stride 0.
Ints sample_strides(const Dims& shape) {
  Ints strides(shape.size(), 0);
  for (size_t i = 1; i < shape.size(); ++i)
    strides[i] = element_count(Dims(shape.begin() + static_cast<int64_t>(i) + 1, shape.end()));
  return strides;
}

// Throws Error unless a parameter is a float of the dtype of the graph's others: the optimizer keeps all parameters in
// one vector.
void check_parameter_dtype(const Graph& graph, const Type& type) {
  if (!is_float(type.dtype))
    report("parameter", {"a parameter is no float", "f64, f32, bf16 or f16", to_string(type), "state(...) may be one"});
  for (const Variable& other : graph.variables) {
    if (other.kind != VariableKind::parameter) continue;
    if (other.type.dtype == type.dtype) return;
    report("parameter", {"parameters of different dtypes",
                         std::string(name(other.type.dtype)) + ", as parameter '" + other.name + "'", to_string(type),
                         "cast(...) the parameter where it is used"});
  }
}

// A new variable; under Reuse the one that is there.
Value declared(Graph& graph, Variable variable) {
  if (!reuses_variables()) return graph.add_variable(std::move(variable));
  const auto described = [](const Variable& v) {
    const std::string rate = v.rate == 1 ? "" : ", rate " + number_text(v.rate);
    return to_string(v.type) + " " + std::string(name(v.kind)) + " of role " + std::string(name(v.role)) + rate;
  };
  const Variable* known = graph.find_variable(variable.name);
  if (known == nullptr)
    report(name(variable.kind),
           {"'" + variable.name + "' is not there to be used again", "a variable that was made before under a Scope",
            "none of that name", "the first call of a sub-network stands under Scope, each later one under Reuse"});
  if (!(known->type == variable.type) || known->kind != variable.kind || known->role != variable.role ||
      known->rate != variable.rate)
    report(name(variable.kind), {"'" + variable.name + "' is used again as another one", described(*known),
                                 described(variable), "every call builds the same sub-network"});
  return graph.read(variable.name);
}

// Names the state that a marker stands for: its value as it was written by an earlier call of a sub-network.
constexpr const char* kWrittenState = "state";

Tensor as_written(Graph& graph, Tensor state) {
  const std::string& name = graph.node(state.value()).attrs.text("name");
  for (const StateWrite& write : graph.writes)
    if (write.variable == name) return make(Op::stop_gradient, {{graph, write.value}}, {{kWrittenState, name}});
  return state;
}

// Returns the variable that `target` is read from. Throws Error unless it is of this kind and has the value's type.
const Variable& written_variable(std::string_view op, VariableKind kind, Tensor target, Tensor value) {
  require_same_graph(op, {target, value});
  const Node& node = target.graph().node(target.value());
  const char* key = node.op == Op::variable ? "name" : kWrittenState;
  const Variable* variable = node.attrs.has(key) ? target.graph().find_variable(node.attrs.text(key)) : nullptr;
  const std::string wanted(name(kind));
  if (variable == nullptr || variable->kind != kind)
    report(op,
           {"the target is no " + wanted, "a tensor that " + wanted + "(...) gave",
            variable ? std::string(name(variable->kind)) + " '" + variable->name + "'"
                     : "the result of " + std::string(name(node.op)),
            variable && variable->kind == VariableKind::parameter ? "parameters change by the optimizer alone" : ""});
  if (!(value.type() == variable->type))
    report(op,
           {"the value does not fit '" + variable->name + "'", to_string(variable->type), to_string(value.type()), ""});
  return *variable;
}

// A stream's name under the open scope; under Reuse with a number, where the name is taken.
std::string stream_name(const Graph& graph, const std::string& stream) {
  const std::string first = scoped(stream);
  if (!graph.has_random_stream(first)) return first;
  if (!reuses_variables())
    report("random_bits", {"stream '" + first + "' exists already", "a name used once in a graph",
                           "a second stream of that name", "two streams of one name have the same bits"});
  int call = 2;
  while (graph.has_random_stream(first + "#" + std::to_string(call))) ++call;
  return first + "#" + std::to_string(call);
}

}  // namespace

Tensor input(Graph& graph, const std::string& name, DType dtype, Dims shape, const std::string& letters, Where where) {
  const Call call(where);
  if (graph.find_input(name).valid())
    report("input", {"'" + name + "' exists already", "a name used once in a graph",
                     to_string(graph.type(graph.find_input(name))) + " of that name", ""});
  if (shape.empty())
    report("input",
           {"'" + name + "' has no axis of samples", "shape [N, ...]", "a scalar", "scalar_input(graph, name)"});
  return add_input(graph, name, "sample", {dtype, std::move(shape), letters});
}

Tensor index_input(Graph& graph, const std::string& name, Dims shape, int64_t below, const std::string& letters,
                   Where where) {
  const Call call(where);
  constexpr int64_t kMost = greatest(DType::i32) + 1;
  if (below < 1 || below > kMost)
    report("index_input", {"'" + name + "' cannot hold its numbers", "below from 1 to " + std::to_string(kMost),
                           std::to_string(below), "they are i32"});
  Tensor indices = input(graph, name, DType::i32, std::move(shape), letters, where);
  graph.nodes[static_cast<size_t>(indices.value().node)].attrs.set("below", below);
  return indices;
}

Tensor scalar_input(Graph& graph, const std::string& name, DType dtype, Where where) {
  const Call call(where);
  const Value known = graph.find_input(name);
  if (!known.valid()) return add_input(graph, name, "scalar", {dtype, {}, ""});
  const Type expected{dtype, {}, ""};
  if (!(graph.type(known) == expected))
    report("scalar_input",
           {"'" + name + "' exists with another type", to_string(expected), to_string(graph.type(known)), ""});
  return {graph, known};
}

Tensor iota(Graph& graph, DType dtype, int64_t length, Where where) {
  const Call call(where);
  if (is_float(dtype)) return cast(iota(graph, DType::i32, length), dtype);
  return {graph, graph.add(Op::iota, {}, {{"dtype", dtype}, {"shape", Dims{length}}})};
}

Tensor random_bits(Graph& graph, const std::string& stream, Dims shape, Where where) {
  const Call call(where);
  const std::string name = stream_name(graph, stream);
  const Tensor step = scalar_input(graph, "step", DType::u32);
  const Tensor worker = scalar_input(graph, "worker", DType::u32);
  const Tensor seed = scalar_input(graph, "seed", DType::u32);
  Ints strides = sample_strides(shape);
  return make(Op::random_bits, {step, worker, seed},
              {{"stream", name}, {"shape", std::move(shape)}, {"strides", std::move(strides)}});
}

namespace {

// Draws multiples of 2^-24 in [0, 1), which f32 holds.
Tensor unit_numbers(Graph& graph, const std::string& stream, Dims shape, DType dtype) {
  return cast(shift_right(random_bits(graph, stream, std::move(shape)), 8.0), dtype) * 0x1p-24;
}

void require_float_dtype(std::string_view op, DType dtype) {
  if (!is_float(dtype))
    report(op, {"dtype is no float", "f64, f32, bf16 or f16", std::string(kb::name(dtype)),
                "random_bits(...) for integers"});
}

}  // namespace

Tensor random_uniform(Graph& graph, const std::string& stream, Dims shape, DType dtype, Where where) {
  const Call call(where);
  require_float_dtype("random_uniform", dtype);
  return cast(unit_numbers(graph, stream, std::move(shape), arithmetic_dtype(dtype)), dtype);
}

Tensor random_normal(Graph& graph, const std::string& stream, Dims shape, DType dtype, Where where) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const Call call(where);
  require_float_dtype("random_normal", dtype);
  // Box and Muller 1958. 1 - u is in (0, 1], and its logarithm finite.
  const DType wide = arithmetic_dtype(dtype);
  const Tensor radius = sqrt(-2.0 * log(1.0 - unit_numbers(graph, stream, shape, wide)));
  return cast(radius * cos(kTurn * unit_numbers(graph, stream + ".angle", std::move(shape), wide)), dtype);
}

Tensor stop_gradient(Tensor x, Where where) {
  const Call call(where);
  return make(Op::stop_gradient, {x});
}

Tensor worker_sum(Tensor x, Where where) {
  const Call call(where);
  return make(Op::worker_sum, {x});
}

Tensor all_reduce(Tensor x, Where where) {
  const Call call(where);
  return make(Op::all_reduce, {x});
}

Tensor parameter(Graph& graph, const std::string& name, Role role, Type type, Init init, double rate, Where where) {
  const Call call(where);
  check_parameter_dtype(graph, type);
  if (!(std::isfinite(rate) && rate > 0))
    report("parameter", {"the rate of '" + scoped(name) + "' is out of range", "a finite number > 0", number_text(rate),
                         "the learning rate of a step is multiplied by it"});
  if (replaces_parameters() && !reuses_variables())
    report("parameter", {"'" + scoped(name) + "' is new, where a Replaced gives other values of parameters",
                         "a call under Reuse, of the parameters that it names", "a call that makes parameters",
                         "{ Reuse again(\"net\"); Replaced other(w, values); y = net(x); }"});
  Variable variable{scoped(name), std::move(type), VariableKind::parameter, role, init, {}};
  variable.rate = rate;
  return in_place_of({graph, declared(graph, std::move(variable))});
}

Tensor state(Graph& graph, const std::string& name, Type type, Init init, Where where) {
  const Call call(where);
  const Tensor state{graph,
                     declared(graph, {scoped(name), std::move(type), VariableKind::state, Role::none, init, {}})};
  return reuses_variables() ? as_written(graph, state) : state;
}

Tensor cache(Graph& graph, const std::string& name, Type type, Where where) {
  const Call call(where);
  return {graph, declared(graph, {scoped(name), std::move(type), VariableKind::cache, Role::none, {}, {}})};
}

void write_cache(Tensor cache, Tensor value, Where where) {
  const Call call(where);
  const Variable& variable = written_variable("write_cache", VariableKind::cache, cache, value);
  if (!cache.graph().add_write(variable.name, value.value()))
    report("write_cache", {"'" + variable.name + "' is written a second time", "one write a call", "two", ""});
}

void write_state(Tensor state, Tensor value, Where where) {
  const Call call(where);
  const Variable& variable = written_variable("write_state", VariableKind::state, state, value);
  Graph& graph = state.graph();
  if (graph.mode == Mode::inference)
    report("write_state", {"'" + variable.name + "' is written in inference", "a graph of Mode::training",
                           "graph '" + graph.name + "' of Mode::inference", "ask graph().mode before writing"});
  if (replaces_parameters()) return;
  if (graph.node(state.value()).op != Op::variable) return graph.replace_write(variable.name, value.value());
  if (!graph.add_write(variable.name, value.value()))
    report("write_state", {"'" + variable.name + "' is written a second time", "one write a step", "two", ""});
}

}  // namespace kb
