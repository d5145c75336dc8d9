#include "runtime/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/interpreter.h"

namespace kb {
namespace {

template <class Map>
std::string names_of(const Map& map) {
  std::string names;
  for (const auto& [name, entry] : map) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

}  // namespace

Session::Session(Backend& backend, StateStore& store, Compiled compiled)
    : backend_(backend), store_(store), compiled_(std::move(compiled)) {
  const Program& program = compiled_.program;
  store_.adopt(compiled_.variables, compiled_.space);
  allocate_own_variables();
  allocate_inputs(*program.prepare.graph);
  allocate_inputs(*program.final.graph);
  arena_ = backend_.allocate(std::max(program.prepare.arena_bytes, program.final.arena_bytes));
  load_programs();
  find_outputs();
}

Session::~Session() = default;

void Session::allocate_own_variables() {
  for (const Variable& variable : compiled_.variables) {
    if (StateStore::keeps(variable.kind)) continue;
    std::unique_ptr<DeviceMemory>& memory = own_[variable.name];
    memory = backend_.allocate(std::max(variable.bytes, variable.type.bytes()));
    if (variable.kind == VariableKind::prepared) continue;
    std::vector<double> values = initial_value(variable, 0).data;
    for (size_t i = 0; i < values.size(); ++i)
      store_element(variable.type.dtype, memory->data(), static_cast<int64_t>(i), values[i]);
  }
}

void Session::allocate_inputs(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op != Op::input) continue;
    auto [at, is_new] = inputs_.try_emplace(node.attrs.text("name"));
    if (is_new) at->second = {node.type(), backend_.allocate(node.type().bytes())};
  }
}

void Session::load_programs() {
  const Program& program = compiled_.program;
  const Schedule* schedules[] = {&program.prepare, &program.final};
  std::vector<std::unique_ptr<Executable>> loaded = backend_.load(schedules, load_);
  prepare_ = std::move(loaded[0]);
  final_ = std::move(loaded[1]);
  prepare_->bind(addresses(program.prepare));
  final_->bind(addresses(program.final));
}

void Session::find_outputs() {
  const Schedule& schedule = compiled_.program.final;
  for (const Output& output : schedule.graph->outputs) {
    View view = schedule.views.at(output.value);
    const std::byte* base = address(schedule.buffers[static_cast<size_t>(view.buffer)]);
    outputs_[output.name] = {schedule.graph->type(output.value), base + view.offset};
  }
}

std::byte* Session::address(const Buffer& buffer) const {
  if (buffer.kind == BufferKind::input) return inputs_.at(buffer.name).memory->data();
  if (buffer.kind != BufferKind::store) return arena_->data() + buffer.offset;
  auto own = own_.find(buffer.name);
  return own == own_.end() ? store_.data(buffer.name) : own->second->data();
}

std::vector<std::byte*> Session::addresses(const Schedule& schedule) const {
  std::vector<std::byte*> result;
  for (const Buffer& buffer : schedule.buffers) result.push_back(address(buffer));
  return result;
}

const Type& Session::input_type(std::string_view name) const {
  auto at = inputs_.find(name);
  if (at != inputs_.end()) return at->second.type;
  throw Error(fmt::format("program {} has no input \"{}\"; its inputs: {}", compiled_.program.final.name, name,
                          names_of(inputs_)));
}

std::byte* Session::input(std::string_view name) {
  (void)input_type(name);
  return inputs_.find(name)->second.memory->data();
}

void Session::set_scalar(std::string_view name, double value) {
  auto at = inputs_.find(name);
  if (at != inputs_.end()) store_element(at->second.type.dtype, at->second.memory->data(), 0, value);
}

void Session::step() {
  prepare_->run();
  final_->run();
}

const Session::OutputPlace& Session::output(std::string_view name) const {
  auto at = outputs_.find(name);
  if (at != outputs_.end()) return at->second;
  throw Error(fmt::format("program {} has no output \"{}\"; its outputs: {}", compiled_.program.final.name, name,
                          names_of(outputs_)));
}

void Session::read(std::string_view name, std::vector<double>& values) const {
  const OutputPlace& place = output(name);
  values.resize(static_cast<size_t>(place.type.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = load_element(place.type.dtype, place.data, static_cast<int64_t>(i));
}

double Session::read_scalar(std::string_view name) const {
  const OutputPlace& place = output(name);
  if (place.type.elements() == 0) throw Error(fmt::format("output \"{}\" has no element", name));
  return load_element(place.type.dtype, place.data, 0);
}

std::vector<StepTime> Session::profile() {
  std::vector<StepTime> times = prepare_->profile();
  std::vector<StepTime> rest = final_->profile();
  times.insert(times.end(), rest.begin(), rest.end());
  return times;
}

}  // namespace kb
