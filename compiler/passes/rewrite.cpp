#include "compiler/passes/rewrite.h"

namespace kb {

std::vector<std::vector<int32_t>> readers_of(const Graph& graph) {
  std::vector<std::vector<int32_t>> readers(graph.nodes.size());
  for (int32_t n = 0; n < graph.size(); ++n)
    for (const Value input : graph.node(n).inputs) readers[static_cast<size_t>(input.node)].push_back(n);
  return readers;
}

Rewriter::Rewriter(const Graph& from, std::string name)
    : from_(from), to_(std::move(name), from.mode), ids_(from), mapped_(static_cast<size_t>(ids_.size())) {}

Value Rewriter::map(Value old) const {
  Value fresh = mapped_[index(old)];
  ensure(fresh.valid(), "rewrite: a value is read before it was copied");
  return fresh;
}

void Rewriter::copy(int32_t number) {
  const Node& old = from_.node(number);
  if (old.op == Op::variable) {
    const std::string& name = old.attrs.text("name");
    replace({number, 0}, to_.find_variable(name) ? to_.read(name) : to_.add_variable(*from_.find_variable(name)));
    return;
  }
  Node fresh = old;
  for (Value& input : fresh.inputs) input = map(input);
  replace_outputs(number, to_.append(from_, std::move(fresh)));
}

void Rewriter::replace_outputs(int32_t old, int32_t fresh) {
  for (int32_t out = 0; out < std::ssize(from_.node(old).outputs); ++out)
    if (!has({old, out})) replace({old, out}, {fresh, out});
}

Value Rewriter::add(const Node& like, Op op, std::vector<Value> inputs, Attrs attrs) {
  return to_.add_like(from_, like, op, std::move(inputs), std::move(attrs));
}

void Rewriter::mark(Value v, std::vector<uint8_t>& marks) const {
  if (has(v) || marks[static_cast<size_t>(v.node)]) return;
  std::vector<int32_t> open{v.node};
  marks[static_cast<size_t>(v.node)] = 1;
  while (!open.empty()) {
    int32_t n = open.back();
    open.pop_back();
    for (Value input : from_.node(n).inputs)
      if (!has(input) && !marks[static_cast<size_t>(input.node)]) {
        marks[static_cast<size_t>(input.node)] = 1;
        open.push_back(input.node);
      }
  }
}

void Rewriter::copy_upto(Value value) {
  std::vector<uint8_t> marks(from_.nodes.size(), 0);
  mark(value, marks);
  for (int32_t n = 0; n <= value.node; ++n)
    if (marks[static_cast<size_t>(n)]) copy(n);
}

std::vector<uint8_t> Rewriter::needed() const {
  std::vector<uint8_t> marks(from_.nodes.size(), 0);
  for (const Output& output : from_.outputs) mark(output.value, marks);
  for (const StateWrite& write : from_.writes) mark(write.value, marks);
  return marks;
}

void Rewriter::copy_needed() {
  std::vector<uint8_t> marks = needed();
  for (int32_t n = 0; n < from_.size(); ++n)
    if (marks[static_cast<size_t>(n)]) copy(n);
}

void Rewriter::map_results() {
  for (const Output& output : from_.outputs) {
    to_.outputs.push_back(output);
    to_.outputs.back().value = map(output.value);
  }
  for (const StateWrite& write : from_.writes) {
    if (!to_.find_variable(write.variable)) to_.add_variable(*from_.find_variable(write.variable));
    to_.writes.push_back({write.variable, map(write.value)});
  }
}

Graph Rewriter::finish() {
  map_results();
  return std::move(to_);
}

Graph without_unused(const Graph& graph) {
  Rewriter rewriter(graph);
  rewriter.copy_needed();
  return rewriter.finish();
}

}  // namespace kb
