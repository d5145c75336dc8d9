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

[[noreturn]] void refuse_index(const std::string& input, const Type& type, std::span<const int32_t> values,
                               int64_t below) {
  const auto wrong = std::find_if(values.begin(), values.end(), [&](int32_t v) { return v < 0 || v >= below; });
  const int64_t a_sample = type.elements() / type.shape.at(0);
  throw Error(fmt::format("input \"{}\": a number of sample {} is out of range\n  expected: 0 to {}\n  got:      {}",
                          input, (wrong - values.begin()) / a_sample, below - 1, *wrong));
}

}  // namespace

Arena allocate_arena(Backend& backend, std::span<const Program* const> programs) {
  Arena arena;
  for (int32_t lane = 0; lane < kMostLanes; ++lane) {
    int64_t bytes = 0;
    for (const Program* program : programs) bytes = std::max(bytes, arena_bytes(*program, lane));
    if (lane == 0 || bytes > 0) arena.push_back(backend.allocate(bytes));
  }
  return arena;
}

Session::Session(Backend& backend, StateStore& store, Compiled compiled, Arena arena, const RankGroup& among)
    : backend_(backend), store_(store), compiled_(std::move(compiled)), arena_(std::move(arena)) {
  store_.adopt(compiled_.variables, compiled_.space);
  allocate_own_variables();
  const Program* program = &compiled_.program;
  if (arena_.empty()) arena_ = allocate_arena(backend_, {&program, 1});
  for (int32_t lane = 0; lane < lanes(*program); ++lane)
    ensure(std::ssize(arena_) > lane && arena_[static_cast<size_t>(lane)]->bytes() >= kb::arena_bytes(*program, lane),
           "an arena that is too small for its program");
  load_programs(among);
}

Session::~Session() = default;

int64_t Session::arena_bytes() const {
  int64_t bytes = 0;
  for (const auto& memory : arena_) bytes += memory->bytes();
  return bytes;
}

void Session::allocate_own_variables() {
  for (const Variable& variable : compiled_.variables) {
    if (StateStore::keeps(variable.kind)) continue;
    std::unique_ptr<DeviceMemory>& memory = own_[variable.name];
    memory = backend_.allocate(std::max(variable.bytes, variable.type.bytes()));
    if (variable.kind != VariableKind::table || variable.init.kind != InitKind::runs)
      continue;  // other tables stay zero
    const std::vector<double> values = initial_value(variable, 0).data;
    std::vector<std::byte> bytes(static_cast<size_t>(variable.type.bytes()));
    for (size_t i = 0; i < values.size(); ++i)
      store_element(variable.type.dtype, bytes.data(), static_cast<int64_t>(i), values[i]);
    backend_.upload(memory->data(), bytes.data(), std::ssize(bytes));
  }
}

std::vector<RunnerParts::Input> Session::find_inputs() {
  std::vector<RunnerParts::Input> inputs;
  for (const Schedule* schedule : compiled_.program.all())
    for (const Node& node : schedule->graph->nodes) {
      if (node.op != Op::input) continue;
      const std::string& name = node.attrs.text("name");
      if (!input_at_.try_emplace(name, inputs.size()).second) continue;
      if (node.attrs.has("below")) index_inputs_.push_back({inputs.size(), node.attrs.integer("below")});
      inputs.push_back({name, node.type()});
      input_names_.push_back(name);
      input_types_.push_back(node.type());
    }
  return inputs;
}

std::vector<RunnerParts::Output> Session::find_outputs() {
  std::vector<RunnerParts::Output> outputs;
  const PartCall& last = compiled_.program.routines[0].back();
  const Schedule& schedule = compiled_.program.parts[last.part];
  for (const Output& output : schedule.graph->outputs) {
    output_at_[output.name] = outputs.size();
    const Type& type = schedule.graph->type(output.value);
    outputs.push_back({program_of(last), schedule.views.at(output.value), type.bytes()});
    output_types_.push_back(type);
  }
  return outputs;
}

size_t Session::program_of(const PartCall& call) {
  const auto known = std::find(calls_.begin(), calls_.end(), call);
  if (known != calls_.end()) return static_cast<size_t>(known - calls_.begin());
  calls_.push_back(call);
  return calls_.size() - 1;
}

void Session::load_programs(const RankGroup& among) {
  RunnerParts parts;
  for (const Routine& routine : compiled_.program.routines) {
    RunnerParts::Routine& programs = parts.routines.emplace_back();
    for (const PartCall& call : routine) programs.push_back(program_of(call));
  }
  for (const PartCall& call : calls_) {
    parts.schedules.push_back(&compiled_.program.parts[call.part]);
    parts.lanes.push_back(call.lane);
  }
  parts.programs = backend_.load(parts.schedules, among, load_);
  for (size_t p = 0; p < calls_.size(); ++p)
    if (calls_[p].lane > 0) parts.programs[p]->use_second_lane();
  parts.inputs = find_inputs();
  parts.outputs = find_outputs();
  parts.address = [this](size_t program, const Buffer& buffer) { return address(calls_[program], buffer); };
  runner_ = backend_.make_runner(std::move(parts));
}

void Session::work(int64_t worker) {
  ensure(worker >= 0 && worker < virtual_workers(), "a virtual worker that the process does not have");
  check_indices();
  runner_->run(compiled_.program.of_worker[static_cast<size_t>(worker)]);
}

std::byte* Session::address(const PartCall& call, const Buffer& buffer) const {
  if (buffer.kind != BufferKind::store) return arena_[static_cast<size_t>(call.lane)]->data() + buffer.offset;
  const std::string& name = call.variable(buffer.name);
  auto own = own_.find(name);
  return own == own_.end() ? store_.data(name) : own->second->data();
}

size_t Session::input_number(std::string_view name) const {
  auto at = input_at_.find(name);
  if (at != input_at_.end()) return at->second;
  throw Error(fmt::format("program {} has no input \"{}\"; its inputs: {}", compiled_.program.at(PartRole::final).name,
                          name, names_of(input_at_)));
}

const Type& Session::input_type(std::string_view name) const { return input_types_[input_number(name)]; }

std::byte* Session::input(std::string_view name) {
  const size_t number = input_number(name);
  std::byte* const values = runner_->input(number);
  note_values(number, values, false);
  return values;
}

void Session::set_scalar(std::string_view name, double value) {
  auto at = input_at_.find(name);
  if (at != input_at_.end()) store_element(input_types_[at->second].dtype, runner_->input(at->second), 0, value);
}

void Session::lend(std::string_view name, const std::byte* from) {
  const size_t number = input_number(name);
  runner_->lend(number, from);
  note_values(number, from, true);
}

void Session::note_values(size_t input, const std::byte* values, bool lent) {
  for (IndexInput& index : index_inputs_)
    if (index.number == input) index.values = values, index.lent = lent;
}

// Throws Error for an index out of range. Programs read what the indices point to without checking them.
void Session::check_indices() {
  for (IndexInput& index : index_inputs_) {
    if (!index.values) continue;
    const Type& type = input_types_[index.number];
    const std::span<const int32_t> values(reinterpret_cast<const int32_t*>(index.values),
                                          static_cast<size_t>(type.elements()));
    uint32_t most = 0;  // unsigned, so that negative numbers compare as the greatest
    for (const int32_t value : values) most = std::max(most, static_cast<uint32_t>(value));
    if (most >= index.below) refuse_index(input_names_[index.number], type, values, index.below);
    if (index.lent) index.values = nullptr;
  }
}

void Session::fill_table(const std::string& name, const void* data, int64_t bytes) {
  const auto at = own_.find(name);
  ensure(at != own_.end() && at->second->bytes() >= bytes, "a table that is not there, or is smaller");
  backend_.upload(at->second->data(), static_cast<const std::byte*>(data), bytes);
}

size_t Session::output_number(std::string_view name) const {
  auto at = output_at_.find(name);
  if (at != output_at_.end()) return at->second;
  throw Error(fmt::format("program {} has no output \"{}\"; its outputs: {}",
                          compiled_.program.at(PartRole::final).name, name, names_of(output_at_)));
}

const Type& Session::output_type(std::string_view name) const { return output_types_[output_number(name)]; }

void Session::read(std::string_view name, std::vector<double>& values, int age) const {
  const size_t number = output_number(name);
  const Type& type = output_types_[number];
  values.resize(static_cast<size_t>(type.elements()));
  const std::byte* data = runner_->output(number, age);
  for (size_t i = 0; i < values.size(); ++i) values[i] = load_element(type.dtype, data, static_cast<int64_t>(i));
}

double Session::read_scalar(std::string_view name, int age) const {
  const size_t number = output_number(name);
  if (output_types_[number].elements() == 0) throw Error(fmt::format("output \"{}\" has no element", name));
  return load_element(output_types_[number].dtype, runner_->output(number, age), 0);
}

}  // namespace kb
