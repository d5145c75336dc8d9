#include "runtime/state_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/interpreter.h"
#include "runtime/sha256.h"

namespace kb {
namespace {

constexpr std::string_view kFlat = "flat.";
constexpr std::string_view kParameters = "flat.parameters";

// "velocity.conv1.weight" for slot "flat.velocity"; a parameter keeps its own name.
std::string canonical_name(const std::string& flat, const Segment& segment) {
  return flat == kParameters ? segment.name : flat.substr(kFlat.size()) + "." + segment.name;
}

bool is_flat(const Variable& variable) { return variable.name.starts_with(kFlat) && variable.kind != VariableKind::table; }

void store_values(DType dtype, std::byte* to, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) store_element(dtype, to, static_cast<int64_t>(i), values[i]);
}

}  // namespace

void StateStore::adopt(const std::vector<Variable>& variables, const ParameterSpace& space) {
  if (space_.segments.empty()) space_ = space;
  ensure(space.segments.empty() || space.length == space_.length, "two programs of one store disagree about the parameter space");
  for (const Variable& variable : variables) {
    if (entries_.contains(variable.name)) continue;
    int64_t bytes = std::max<int64_t>(variable.bytes, variable.type.bytes());
    entries_[variable.name] = {variable, backend_.allocate(bytes)};
    if (variable.kind == VariableKind::table) store_values(variable.type.dtype, data(variable.name), variable.values);
  }
}

void StateStore::initialise(uint32_t seed) {
  for (auto& [name, entry] : entries_) {
    if (entry.variable.kind == VariableKind::prepared || entry.variable.kind == VariableKind::table) continue;
    std::memset(entry.memory->data(), 0, static_cast<size_t>(entry.memory->bytes()));
    if (!is_flat(entry.variable)) store_values(entry.variable.type.dtype, entry.memory->data(), initial_value(entry.variable, seed).data);
  }
  if (!has(std::string(kParameters))) return;
  std::byte* flat = data(std::string(kParameters));
  for (const Segment& segment : space_.segments) {
    Variable parameter{segment.name, segment.type, VariableKind::parameter, segment.role, segment.init, {}, 0};
    store_values(space_.dtype, flat + segment.offset * size_of(space_.dtype), initial_value(parameter, seed).data);
  }
}

std::byte* StateStore::data(const std::string& name) {
  auto at = entries_.find(name);
  if (at == entries_.end()) throw InternalError("the store has no variable " + name);
  return at->second.memory->data();
}

std::vector<NamedTensor> StateStore::canonical(bool slots) const {
  std::vector<NamedTensor> result;
  for (const auto& [name, entry] : entries_) {
    const Variable& variable = entry.variable;
    const std::byte* from = entry.memory->data();
    if (variable.kind == VariableKind::state)
      result.push_back({name, variable.type, {from, from + variable.type.bytes()}});
    if (!is_flat(variable) || (variable.kind == VariableKind::slot && !slots)) continue;
    for (const Segment& segment : space_.segments) {
      const std::byte* part = from + segment.offset * size_of(space_.dtype);
      result.push_back({canonical_name(name, segment), segment.type, {part, part + segment.type.bytes()}});
    }
  }
  std::sort(result.begin(), result.end(), [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  return result;
}

std::vector<std::string> StateStore::load(const std::vector<NamedTensor>& tensors) {
  struct Place {
    Type type;
    std::byte* to;
  };
  std::map<std::string, Place> places;
  for (const auto& [name, entry] : entries_) {
    if (entry.variable.kind == VariableKind::state) places[name] = {entry.variable.type, entry.memory->data()};
    if (!is_flat(entry.variable)) continue;
    for (const Segment& segment : space_.segments)
      places[canonical_name(name, segment)] = {segment.type, entry.memory->data() + segment.offset * size_of(space_.dtype)};
  }
  std::vector<std::string> unknown;
  for (const NamedTensor& tensor : tensors) {
    auto at = places.find(tensor.name);
    if (at == places.end()) {
      unknown.push_back(tensor.name);
      continue;
    }
    if (!(at->second.type == tensor.type))
      throw Error(fmt::format("tensor {}: expected {}, got {}", tensor.name, to_string(at->second.type), to_string(tensor.type)));
    std::memcpy(at->second.to, tensor.data.data(), tensor.data.size());
  }
  return unknown;
}

std::string StateStore::state_sha256() const {
  Sha256 hash;
  for (const NamedTensor& tensor : canonical()) {
    hash.update_field(tensor.name);
    hash.update_field(fmt::format("{}[{}]", name(tensor.type.dtype), fmt::join(tensor.type.shape, ",")));
    hash.update(tensor.data.data(), tensor.data.size());
  }
  return hash.hex();
}

}  // namespace kb
