// The graph: nodes in topological order, variables (parameters and state), outputs and state writes. The DSL
// (graph/tensor.h) makes the first graph, and each pass makes a new one from an old one. Shapes are static. Axes are in
// PyTorch's order until the layout pass.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/attrs.h"
#include "graph/dtype.h"
#include "graph/enum_table.h"
#include "graph/error.h"
#include "graph/ops.h"
#include "graph/type.h"

namespace kb {

// Names one output of one node.
struct Value {
  int32_t node = -1;
  int32_t out = 0;
  bool valid() const { return node >= 0; }
  friend bool operator==(const Value&, const Value&) = default;
  friend auto operator<=>(const Value&, const Value&) = default;
};

struct ValueHash {
  size_t operator()(const Value& v) const { return static_cast<size_t>(v.node) * 8 + static_cast<size_t>(v.out); }
};

// A source line that a node comes from: the line of the innermost DSL call, or of one of the calls around it
// (`caller`). `file` and `function` have static storage, as they come from a source_location.
struct Frame {
  const char* file = "";
  int32_t line = 0;
  int32_t caller = -1;        // index into Graph::frames; -1: this is the user's own line
  const char* function = "";  // the function called there, with its signature as the compiler writes it
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct Node {
  Op op = Op::constant;
  std::vector<Value> inputs;
  Attrs attrs;
  std::vector<Type> outputs;
  int32_t scope = 0;   // index into Graph::scopes
  int32_t frame = -1;  // index into Graph::frames

  const Type& type(int32_t out = 0) const { return outputs[static_cast<size_t>(out)]; }
};

// Each enumeration below that the graph's text writes has its values' names in a table, in their order.
enum class Role : uint8_t { none, weight, bias, norm_scale, norm_shift, embedding };
inline constexpr EnumNames<Role> kRoleNames({"none", "weight", "bias", "norm_scale", "norm_shift", "embedding"});
inline std::string_view name(Role role) { return kRoleNames[role]; }

// The use of a variable. parameter: it is trained. state: running statistics. slot: a vector of the optimizer. table:
// constant data of the compiler, for example the decay of each block. prepared: computed from the parameters once a
// step, by the `prepare` program. partial: a sum over some of a step's workers, on its way to the update. cache: values
// that a program carries from one call to the next, in no checkpoint.
enum class VariableKind : uint8_t { parameter, state, slot, table, prepared, partial, cache };
inline constexpr EnumNames<VariableKind> kVariableKindNames({"parameter", "state", "slot", "table", "prepared",
                                                             "partial", "cache"});
inline std::string_view name(VariableKind kind) { return kVariableKindNames[kind]; }

// The distribution of a variable's initial values. normal: N(a, b^2); uniform: [a, b); constant: a; runs:
// `Variable::values`; truncated_normal: N(a, b^2) where it lies within a +- 2 b; orthogonal: b times a matrix, of the
// first axis and all others, whose rows, or columns if these are fewer, are orthonormal.
enum class InitKind : uint8_t { constant, normal, uniform, runs, truncated_normal, orthogonal };
inline constexpr EnumNames<InitKind> kInitKindNames({"constant", "normal", "uniform", "runs", "truncated_normal",
                                                     "orthogonal"});
struct Init {
  InitKind kind = InitKind::constant;
  double a = 0;
  double b = 0;
  // The initialiser by which a layer made this, as "he_normal(fan_out)"; empty when it is unknown. The text has static
  // storage. `inspect` prints it; equality, the graph's text and its hash leave it out.
  std::string_view rule = {};
  friend bool operator==(const Init& x, const Init& y) { return x.kind == y.kind && x.a == y.a && x.b == y.b; }
};

// A vector that holds one number for every element of the parameters (compiler/passes/parameter_space.h).
struct FlatVector {
  std::string slot = {};  // name of the update rule's slot; empty: the parameters themselves
  int64_t offset = 0;     // elements of the parameters before its first
};

// The values that a sum over the workers of a step adds: a bucket of the flat gradient, or the rest (losses, running
// statistics and norms).
enum class SumGroup : uint8_t { gradient, rest };
inline std::string_view name(SumGroup group) { return group == SumGroup::gradient ? "gradient" : "rest"; }

struct Variable {
  std::string name;  // the name that PyTorch gives it: "layer1.0.conv1.weight"
  Type type;
  VariableKind kind = VariableKind::parameter;
  Role role = Role::none;
  Init init;
  std::vector<double> values;  // InitKind::runs alone: length, value, length, value, ... over all elements
  int64_t bytes = 0;  // bytes of a prepared variable that a library keeps in its own format; 0: the type's bytes
  double rate = 1;    // parameter: the factor by which its learning rate differs from that of the step, above 0
  // Passes keep facts about their own variables here. The graph's text and hash leave it out, as they have the name
  // that follows from it.
  std::optional<FlatVector> flat = {};  // parameter or slot
  SumGroup sum = SumGroup::rest;        // partial: what it is a sum of
  int32_t group = 0;                    // parameter: the ParameterGroup that owns it
};

// How the workers' values of an output become one: their sum, the value of global worker 0, or one row a sample.
enum class Merge : uint8_t { sum, first, per_sample };
inline constexpr EnumNames<Merge> kMergeNames({"sum", "first", "per_sample"});
inline std::string_view name(Merge merge) { return kMergeNames[merge]; }

// The use of an output. result: whatever the model gives. loss: it is minimised. gradient: of the loss, by a
// parameter. layer: about the layers, for log_layers.
enum class OutputKind : uint8_t { result, loss, gradient, layer };

struct Output {
  std::string name;
  Value value;
  Merge merge = Merge::sum;
  // Set by passes; the graph's text and hash leave both out, as they have the name that follows from them.
  OutputKind kind = OutputKind::result;
  std::string parameter = {};  // gradient: the parameter's name
};

struct StateWrite {
  std::string variable;
  Value value;
};

// In `statistics`, batch norm normalises by the minibatch as in training and records its mean and variance; all other
// functions act as in inference.
enum class Mode : uint8_t { training, inference, statistics };
inline constexpr EnumNames<Mode> kModeNames({"training", "inference", "statistics"});
inline std::string_view name(Mode mode) { return kModeNames[mode]; }

class Graph {
 public:
  explicit Graph(std::string name = "graph", Mode mode = Mode::training) : name(std::move(name)), mode(mode) {}

  std::string name;
  Mode mode;
  std::vector<Node> nodes;  // every input of a node stands before it
  std::vector<Variable> variables;
  std::vector<Output> outputs;
  std::vector<StateWrite> writes;
  std::vector<std::string> scopes{""};  // scope paths, "layer1.0.bn1", each once
  std::vector<Frame> frames;            // source lines, each once

  const Node& node(int32_t number) const { return nodes[static_cast<size_t>(number)]; }
  const Node& node(Value v) const { return node(v.node); }
  int32_t size() const { return static_cast<int32_t>(nodes.size()); }  // number of nodes
  const Type& type(Value v) const { return node(v).type(v.out); }

  // Adds a node whose output types follow from `infer` (graph/infer.h). Scope and place are those of the building
  // thread (graph/scope.h). Throws Error with place, scope path, op, expected, got and hint when the inputs do not fit.
  Value add(Op op, std::vector<Value> inputs, Attrs attrs = {});
  // Adds a node as add() does, at the scope and place of `like`, a node of `other`, which may be this graph. Passes use
  // it.
  Value add_like(const Graph& other, const Node& like, Op op, std::vector<Value> inputs, Attrs attrs = {});
  // Appends a node of `other` as it is, types included; its scope and frame are entered in this graph's own lists.
  int32_t append(const Graph& other, Node node);

  // Adds a variable and returns the value that reads it. Throws when there is one of this name.
  Value add_variable(Variable variable);
  // Returns the value that reads variable `name`; each variable has one node. Throws InternalError if there is no such
  // variable.
  Value read(const std::string& name);
  const Variable* find_variable(const std::string& name) const;
  // Returns the value of input `name`; an invalid Value when the graph has no such input.
  Value find_input(const std::string& name) const;
  bool has_random_stream(const std::string& stream) const { return streams_.count(stream) > 0; }
  // Makes `value` the variable's value after the step; returns false when the variable is written already.
  bool add_write(const std::string& variable, Value value);
  // The value of a variable that is written already becomes another one.
  void replace_write(const std::string& variable, Value value);

  int32_t intern_scope(const std::string& path);
  int32_t intern_frame(const Frame& frame);
  // Returns "file:line" of the user's own line for a node: its outermost frame, without folders; "" when it is unknown.
  std::string place(const Node& node) const;
  // Returns the DSL function that the user's own line calls for a node, as "batch_norm"; "" when it is unknown.
  std::string_view called(const Node& node) const;
  // Returns a line for each value that another line than the present DSL call's made: its type, that line, and the
  // scope there, as "f32[N=4,C=3]: relu, model.cpp:18 (in layer3.0)".
  std::string makers(std::span<const Value> values) const;

 private:
  Value add_called(std::string_view called, Op op, std::vector<Value> inputs, Attrs attrs);
  Value insert(Op op, std::vector<Value>&& inputs, Attrs attrs, int32_t scope, int32_t frame);
  void index_leaf(int32_t node);
  int32_t import_scope(const Graph& other, int32_t scope);
  int32_t import_frame(const Graph& other, int32_t frame);
  int32_t frame_here();
  const Frame* outermost_frame(const Node& node) const;

  // Indices over the vectors above. The last two know the first `indexed_variables_` variables and `indexed_writes_`
  // writes.
  std::unordered_map<std::string, int32_t> scope_index_;
  std::unordered_map<uint64_t, std::vector<int32_t>> frame_index_;
  mutable std::unordered_map<std::string, int32_t> variable_index_;
  mutable size_t indexed_variables_ = 0;
  std::unordered_set<std::string> written_;
  size_t indexed_writes_ = 0;
  std::unordered_map<std::string, Value> reads_;
  std::unordered_map<std::string, Value> inputs_;
  std::unordered_set<std::string> streams_;
};

}  // namespace kb
