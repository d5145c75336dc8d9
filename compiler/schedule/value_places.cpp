#include "compiler/schedule/value_places.h"

#include "compiler/fuse/materialise.h"
#include "compiler/views.h"

namespace kb {

ValuePlaces::ValuePlaces(const Graph& graph, const Ordered& ordered, const Target& target, Schedule& schedule)
    : graph_(graph), ordered_(ordered), target_(target), schedule_(schedule) {
  find_lives();
  place_variables_and_inputs();
  place_state_writes();
  place_outputs();
  // A concat is placed before its parts, which may be concats themselves, so the groups are visited from last to first.
  for (auto group = ordered_.groups.rbegin(); group != ordered_.groups.rend(); ++group)
    if (group->cls == FusionClass::copy) place_concat(*group);
}

int32_t ValuePlaces::add_buffer(BufferKind kind, std::string name, int64_t bytes, int32_t node) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.name = std::move(name);
  buffer.bytes = bytes;
  buffer.node = node;
  buffer.first = -1;
  schedule_.buffers.push_back(std::move(buffer));
  return static_cast<int32_t>(schedule_.buffers.size()) - 1;
}

int64_t ValuePlaces::variable_bytes(const Variable& variable) const {
  return variable.bytes > 0 ? variable.bytes : variable.type.bytes();
}

void ValuePlaces::place_variables_and_inputs() {
  for (int32_t n = 0; n < graph_.size(); ++n) {
    const Node& node = graph_.node(n);
    if (node.op != Op::variable && node.op != Op::input) continue;
    const std::string& name = node.attrs.text("name");
    bool stored = node.op == Op::variable;
    int64_t bytes = stored ? variable_bytes(*graph_.find_variable(name)) : node.type().bytes();
    int32_t buffer = stored ? store_buffer(name, bytes) : add_buffer(BufferKind::input, name, bytes, n);
    schedule_.views[{n, 0}] = {buffer, 0};
  }
}

int32_t ValuePlaces::store_buffer(const std::string& name, int64_t bytes) {
  auto [at, fresh] = stores_.try_emplace(name, -1);
  if (fresh) at->second = add_buffer(BufferKind::store, name, bytes, -1);
  return at->second;
}

void ValuePlaces::place_state_writes() {
  for (size_t i = 0; i < graph_.writes.size(); ++i) {
    const View view = store(graph_.writes[i].variable);
    if (ordered_.in_place[i].valid()) place_at(ordered_.in_place[i], view);
  }
}

void ValuePlaces::place_outputs() {
  for (const Output& output : graph_.outputs) {
    Value owner = resolve_alias(graph_, output.value).owner;
    if (!schedule_.views.contains(owner))
      schedule_.views[owner] = {add_buffer(BufferKind::output, output.name, graph_.type(owner).bytes(), owner.node), 0};
  }
}

void ValuePlaces::find_lives() {
  for (size_t g = 0; g < ordered_.groups.size(); ++g) {
    const Group& group = ordered_.groups[g];
    for (Value input : group.inputs) last_reader_[resolve_alias(graph_, input).owner] = g;
    if (target_.processor == Processor::gpu && (group.cls == FusionClass::library || group.product >= 0))
      for (const std::vector<Value>* values : {&group.inputs, &group.outputs})
        for (const Value v : *values) operands_.insert(resolve_alias(graph_, v).owner);
    if (group.outputs.empty()) continue;
    if (const Value source = taken_over(group.outputs[0]); source.valid()) exchanged_at_[source] = g;
  }
}

// Whether a launch after the exchange of `whole` still reads `part`, which must then lie outside the exchanged memory.
// An example: with one sample per worker the gradient of a bias is the gradient of the layer's output, which the
// backward pass reads while the bucket is summed.
bool ValuePlaces::is_read_behind_exchange(Value part, Value whole) const {
  const auto read = last_reader_.find(part), exchanged = exchanged_at_.find(whole);
  return read != last_reader_.end() && exchanged != exchanged_at_.end() && read->second > exchanged->second;
}

// The parts of a placed concat that nothing else has placed go straight into its memory, except where a product on
// a GPU, whose operands are aligned, would touch a part elsewhere than at a multiple of 16 bytes.
void ValuePlaces::place_concat(const Group& group) {
  Value whole = group.outputs.empty() ? Value{group.nodes.back(), 0} : group.outputs[0];
  View base = place(whole);
  int64_t offset = 0;
  for (Value part : graph_.node(whole).inputs) {
    Alias alias = resolve_alias(graph_, part);
    int64_t bytes = graph_.type(part).bytes();
    Op op = graph_.node(alias.owner).op;
    bool placeable = op != Op::variable && op != Op::input && !is_zeros(graph_, part) && alias.offset == 0 &&
                     graph_.type(alias.owner).bytes() == bytes && !is_read_behind_exchange(alias.owner, whole) &&
                     ((base.offset + offset) % kGpuVectorBytes == 0 || !operands_.contains(alias.owner));
    if (placeable) place_at(alias.owner, {base.buffer, base.offset + offset});
    offset += bytes;
  }
}

// Places the value at `view`, unless it has a place already. The source of an exchange is placed there with the result.
void ValuePlaces::place_at(Value owner, View view) {
  if (!schedule_.views.try_emplace(owner, view).second) return;
  if (const Value source = taken_over(owner); source.valid()) place_at(source, view);
}

// Returns the value that an exchange works on, if the result may lie in its memory; else an invalid value.
Value ValuePlaces::taken_over(Value owner) const {
  if (!is_exchange(graph_.node(owner))) return {};
  const Alias source = resolve_alias(graph_, graph_.node(owner).inputs.back());
  const Op op = graph_.node(source.owner).op;
  const bool whole = source.offset == 0 && graph_.type(source.owner).bytes() == graph_.type(owner).bytes();
  return whole && op != Op::variable && op != Op::input && op != Op::constant ? source.owner : Value{};
}

View ValuePlaces::place(Value value) {
  Alias alias = resolve_alias(graph_, value);
  auto at = schedule_.views.find(alias.owner);
  if (at == schedule_.views.end()) {
    const Value source = taken_over(alias.owner);
    const View own = source.valid() ? place(source) : open_buffer(alias.owner);
    at = schedule_.views.emplace(alias.owner, own).first;
  }
  View view{at->second.buffer, at->second.offset + alias.offset};
  if (alias.owner != value) schedule_.views[value] = view;
  return view;
}

View ValuePlaces::open_buffer(Value owner) {
  const Node& node = graph_.node(owner);
  return {add_buffer(BufferKind::arena, std::string(name(node.op)), bytes_of(node, owner.out), owner.node), 0};
}

// The library says how many bytes packed weights take.
int64_t ValuePlaces::bytes_of(const Node& node, int32_t out) const {
  bool packed = node.op == Op::pack_weights && target_.library;
  return packed ? target_.library->packed_bytes(graph_, node) : node.type(out).bytes();
}

int64_t ValuePlaces::bytes_of(Value v) const {
  const Node& owner = graph_.node(v);
  if (owner.op == Op::variable) return variable_bytes(*graph_.find_variable(owner.attrs.text("name")));
  return bytes_of(owner, v.out);
}

View ValuePlaces::scratch(int64_t bytes) {
  if (bytes <= 0) return {};
  return {add_buffer(BufferKind::arena, "scratch", bytes, -1), 0};
}

View ValuePlaces::store(const std::string& variable) {
  return {store_buffer(variable, variable_bytes(*graph_.find_variable(variable))), 0};
}

View ValuePlaces::save_output(const Output& output) {
  return {add_buffer(BufferKind::output, output.name, graph_.type(output.value).bytes(), output.value.node), 0};
}

}  // namespace kb
