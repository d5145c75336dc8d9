#include "runtime/session.h"

#include <fmt/format.h>

#include <cstring>

namespace kb {

Session::Session(Backend& backend, StateStore& store, Compiled compiled) : backend_(backend), store_(store), compiled_(std::move(compiled)) {
  store_.adopt(compiled_.variables, compiled_.space);
  const Program& program = compiled_.program;
  arena_ = backend_.allocate(std::max(program.prepare.arena_bytes, program.final.arena_bytes));
  for (const Schedule* schedule : {&program.prepare, &program.final})
    for (const Node& node : schedule->graph->nodes) {
      if (node.op != Op::input) continue;
      const std::string& name = node.attrs.text("name");
      if (inputs_.contains(name)) continue;
      inputs_[name] = backend_.allocate(node.type().bytes());
      input_types_[name] = node.type();
    }
  prepare_ = backend_.load(program.prepare, load_);
  final_ = backend_.load(program.final, load_);
  prepare_->bind(addresses(program.prepare));
  final_->bind(addresses(program.final));
}

Session::~Session() = default;

std::vector<std::byte*> Session::addresses(const Schedule& schedule) {
  std::vector<std::byte*> result;
  for (const Buffer& buffer : schedule.buffers) {
    switch (buffer.kind) {
      case BufferKind::store: result.push_back(store_.data(buffer.name)); break;
      case BufferKind::input: result.push_back(inputs_.at(buffer.name)->data()); break;
      default: result.push_back(arena_->data() + buffer.offset);
    }
  }
  return result;
}

bool Session::has_input(const std::string& name) const { return inputs_.contains(name); }

const Type& Session::input_type(const std::string& name) const {
  auto at = input_types_.find(name);
  if (at != input_types_.end()) return at->second;
  std::string known;
  for (const auto& [other, type] : input_types_) known += (known.empty() ? "" : ", ") + other;
  throw Error(fmt::format("program {} has no input \"{}\"; its inputs: {}", compiled_.program.final.name, name, known));
}

std::byte* Session::input(const std::string& name) {
  (void)input_type(name);
  return inputs_.at(name)->data();
}

void Session::set_scalar(const std::string& name, double value) {
  auto at = inputs_.find(name);
  if (at != inputs_.end()) store_element(input_types_.at(name).dtype, at->second->data(), 0, value);
}

void Session::step() {
  prepare_->run();
  final_->run();
}

bool Session::has_output(const std::string& name) const {
  for (const Output& output : compiled_.program.final.graph->outputs)
    if (output.name == name) return true;
  return false;
}

void Session::read(const std::string& name, std::vector<double>& values) const {
  const Schedule& schedule = compiled_.program.final;
  for (const Output& output : schedule.graph->outputs) {
    if (output.name != name) continue;
    View view = schedule.views.at(output.value);
    const Buffer& buffer = schedule.buffers[static_cast<size_t>(view.buffer)];
    const std::byte* base = buffer.kind == BufferKind::store   ? store_.data(buffer.name)
                            : buffer.kind == BufferKind::input ? inputs_.at(buffer.name)->data()
                                                               : arena_->data() + buffer.offset;
    const Type& type = schedule.graph->type(output.value);
    values.resize(static_cast<size_t>(type.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = load_element(type.dtype, base + view.offset, static_cast<int64_t>(i));
    return;
  }
  throw Error(fmt::format("program {} has no output \"{}\"", schedule.name, name));
}

double Session::read_scalar(const std::string& output) const {
  std::vector<double> values;
  read(output, values);
  return values.at(0);
}

int64_t Session::arena_bytes() const { return arena_->bytes(); }

std::vector<StepTime> Session::profile() {
  std::vector<StepTime> times = prepare_->profile();
  std::vector<StepTime> rest = final_->profile();
  times.insert(times.end(), rest.begin(), rest.end());
  return times;
}

}  // namespace kb
