#include "graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/infer.h"
#include "graph/report.h"
#include "graph/scope.h"

namespace kb {
namespace {

uint64_t frame_key(const Frame& frame) {
  uint64_t key = reinterpret_cast<uintptr_t>(frame.file);
  key = (key ^ static_cast<uint32_t>(frame.line)) * 0x9e3779b97f4a7c15u;
  return (key ^ static_cast<uint32_t>(frame.caller)) * 0x9e3779b97f4a7c15u;
}

Attrs variable_attrs(const Variable& variable) {
  return {{"name", variable.name},
          {"dtype", variable.type.dtype},
          {"shape", variable.type.shape},
          {"names", variable.type.names}};
}

}  // namespace

Value Graph::add(Op op, std::vector<Value> inputs, Attrs attrs) {
  return add_called(kb::name(op), op, std::move(inputs), std::move(attrs));
}

Value Graph::add_called(std::string_view called, Op op, std::vector<Value> inputs, Attrs attrs) {
  const Origin* origin = current_origin();
  const int32_t scope = origin ? import_scope(*origin->graph, origin->scope) : intern_scope(scope_path());
  const int32_t frame = origin ? import_frame(*origin->graph, origin->frame) : frame_here();
  try {
    return insert(op, std::move(inputs), std::move(attrs), scope, frame);
  } catch (const Mistake& mistake) {
    report(called, mistake, makers(inputs));  // insert() has not taken the inputs of what it refuses
  }
}

Value Graph::add_like(const Graph& other, const Node& like, Op op, std::vector<Value> inputs, Attrs attrs) {
  // `like` may be a node of this graph, and adding a node may move it in memory: it is not read after that.
  const int32_t scope = import_scope(other, like.scope);
  const int32_t frame = import_frame(other, like.frame);
  try {
    return insert(op, std::move(inputs), std::move(attrs), scope, frame);
  } catch (const Mistake& mistake) {
    throw InternalError(std::string(kb::name(op)) + ": " + mistake.what + "\n  expected: " + mistake.expected +
                        "\n  got:      " + mistake.got);
  }
}

Value Graph::insert(Op op, std::vector<Value>&& inputs, Attrs attrs, int32_t scope, int32_t frame) {
  std::vector<Type> types;
  types.reserve(inputs.size());
  for (const Value& value : inputs) types.push_back(type(value));
  Node node;
  node.outputs = infer(op, types, attrs);
  node.op = op;
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  node.scope = scope;
  node.frame = frame;
  nodes.push_back(std::move(node));
  const auto index = static_cast<int32_t>(nodes.size() - 1);
  index_leaf(index);
  return {index, 0};
}

int32_t Graph::append(const Graph& other, Node node) {
  node.scope = import_scope(other, node.scope);
  node.frame = import_frame(other, node.frame);
  nodes.push_back(std::move(node));
  const auto index = static_cast<int32_t>(nodes.size() - 1);
  index_leaf(index);
  return index;
}

void Graph::index_leaf(int32_t node) {
  const Node& leaf = nodes[static_cast<size_t>(node)];
  if (leaf.op == Op::variable) reads_.emplace(leaf.attrs.text("name"), Value{node, 0});
  if (leaf.op == Op::random_bits) streams_.insert(leaf.attrs.text("stream"));
  if (leaf.op == Op::input) inputs_.emplace(leaf.attrs.text("name"), Value{node, 0});
}

Value Graph::add_variable(Variable variable) {
  if (const Variable* same = find_variable(variable.name))
    report(kb::name(variable.kind), {"'" + variable.name + "' exists already", "a name used once in a graph",
                                     to_string(same->type) + " and " + to_string(variable.type) + " of that name",
                                     "give one of the layers another name, or put it in a Scope of its own"});
  const Value read = add_called(kb::name(variable.kind), Op::variable, {}, variable_attrs(variable));
  variables.push_back(std::move(variable));
  return read;
}

Value Graph::read(const std::string& name) {
  const auto found = reads_.find(name);
  if (found != reads_.end()) return found->second;
  const Variable* variable = find_variable(name);
  if (variable == nullptr) throw InternalError("the graph has no variable '" + name + "'");
  return add(Op::variable, {}, variable_attrs(*variable));
}

const Variable* Graph::find_variable(const std::string& name) const {
  if (indexed_variables_ > variables.size()) {
    variable_index_.clear();
    indexed_variables_ = 0;
  }
  for (; indexed_variables_ < variables.size(); ++indexed_variables_)
    variable_index_.emplace(variables[indexed_variables_].name, static_cast<int32_t>(indexed_variables_));
  const auto found = variable_index_.find(name);
  return found == variable_index_.end() ? nullptr : &variables[static_cast<size_t>(found->second)];
}

Value Graph::find_input(const std::string& name) const {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? Value{} : found->second;
}

bool Graph::add_write(const std::string& variable, Value value) {
  if (indexed_writes_ > writes.size()) {
    written_.clear();
    indexed_writes_ = 0;
  }
  for (; indexed_writes_ < writes.size(); ++indexed_writes_) written_.insert(writes[indexed_writes_].variable);
  if (!written_.insert(variable).second) return false;
  writes.push_back({variable, value});
  indexed_writes_ = writes.size();
  return true;
}

void Graph::replace_write(const std::string& variable, Value value) {
  for (StateWrite& write : writes)
    if (write.variable == variable) write.value = value;
}

int32_t Graph::intern_scope(const std::string& path) {
  if (path.empty()) return 0;
  const auto [at, is_new] = scope_index_.emplace(path, static_cast<int32_t>(scopes.size()));
  if (is_new) scopes.push_back(path);
  return at->second;
}

int32_t Graph::intern_frame(const Frame& frame) {
  std::vector<int32_t>& candidates = frame_index_[frame_key(frame)];
  for (const int32_t index : candidates)
    if (frames[static_cast<size_t>(index)] == frame) return index;
  frames.push_back(frame);
  candidates.push_back(static_cast<int32_t>(frames.size() - 1));
  return candidates.back();
}

int32_t Graph::frame_here() {
  int32_t frame = -1;
  const std::vector<std::source_location>& calls = call_stack();
  for (size_t i = 0; i < calls.size(); ++i)
    frame = intern_frame({calls[i].file_name(), static_cast<int32_t>(calls[i].line()), frame, called_functions()[i]});
  return frame;
}

int32_t Graph::import_scope(const Graph& other, int32_t scope) {
  return &other == this ? scope : intern_scope(other.scopes[static_cast<size_t>(scope)]);
}

int32_t Graph::import_frame(const Graph& other, int32_t frame) {
  if (frame < 0 || &other == this) return frame;
  const Frame source = other.frames[static_cast<size_t>(frame)];
  return intern_frame({source.file, source.line, import_frame(other, source.caller), source.function});
}

const Frame* Graph::outermost_frame(const Node& node) const {
  if (node.frame < 0) return nullptr;
  const Frame* frame = &frames[static_cast<size_t>(node.frame)];
  while (frame->caller >= 0) frame = &frames[static_cast<size_t>(frame->caller)];
  return frame;
}

std::string Graph::place(const Node& node) const {
  const Frame* frame = outermost_frame(node);
  return frame ? std::string(base_name(frame->file)) + ":" + std::to_string(frame->line) : "";
}

std::string_view Graph::called(const Node& node) const {
  const Frame* frame = outermost_frame(node);
  return frame ? function_name(frame->function) : "";
}

std::string Graph::makers(std::span<const Value> values) const {
  if (call_stack().empty()) return "";
  const std::source_location& here = call_stack().front();
  std::vector<std::string> lines;
  for (const Value& value : values) {
    const Node& node = nodes[static_cast<size_t>(value.node)];
    const Frame* frame = outermost_frame(node);
    if (!frame ||
        (frame->line == static_cast<int32_t>(here.line()) && base_name(frame->file) == base_name(here.file_name())))
      continue;
    const std::string& scope = scopes[static_cast<size_t>(node.scope)];
    std::string line = to_string(type(value)) + ": " + std::string(called(node)) + ", " + place(node);
    if (!scope.empty()) line += " (in " + scope + ")";
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace kb
