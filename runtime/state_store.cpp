#include "runtime/state_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/passes/loss_scale.h"
#include "compiler/passes/parameter_space.h"
#include "graph/interpreter.h"
#include "runtime/sha256.h"
#include "runtime/threads.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

// Returns "velocity.conv1.weight" for slot "velocity"; a parameter keeps its own name.
std::string canonical_name(const FlatVector& flat, const Segment& segment) {
  return flat.slot.empty() ? segment.name : flat.slot + "." + segment.name;
}

void store_values(DType dtype, std::byte* to, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) store_element(dtype, to, static_cast<int64_t>(i), values[i]);
}

bool same_place(const Segment& a, const Segment& b) {
  return a.name == b.name && a.type == b.type && a.offset == b.offset && a.length == b.length && a.order == b.order;
}

}  // namespace

bool StateStore::keeps(VariableKind kind) {
  return kind == VariableKind::parameter || kind == VariableKind::state || kind == VariableKind::slot;
}

void StateStore::adopt_space(const ParameterSpace& space) {
  if (space.segments.empty()) return;
  if (space_.segments.empty()) space_ = space;
  bool same = space.dtype == space_.dtype && std::equal(space.segments.begin(), space.segments.end(),
                                                        space_.segments.begin(), space_.segments.end(), same_place);
  if (!same)
    throw Error(
        fmt::format("training and evaluation have other parameters\n  expected: {} tensors, {} elements of {}\n"
                    "  got:      {} tensors, {} elements of {}\n  hint:     a model function declares the same ones in "
                    "both modes",
                    space_.segments.size(), space_.length, name(space_.dtype), space.segments.size(), space.length,
                    name(space.dtype)));
}

void StateStore::adopt(const std::vector<Variable>& variables, const ParameterSpace& space) {
  adopt_space(space);
  for (const Variable& variable : variables) {
    if (!keeps(variable.kind)) continue;
    auto [at, is_new] = entries_.try_emplace(variable.name);
    if (is_new)
      at->second = make_entry(variable);
    else if (!(at->second.variable.type == variable.type))
      throw Error(
          fmt::format("training and evaluation disagree about {}\n  expected: {}\n  got:      {}\n  hint:     a model "
                      "function declares the same parameters in both modes",
                      variable.name, to_string(at->second.variable.type), to_string(variable.type)));
  }
}

StateStore::Entry StateStore::make_entry(const Variable& variable) const {
  const bool is_mirrored = !backend_ || !backend_->host_visible();
  return {variable, backend_ ? backend_->allocate(variable.type.bytes()) : nullptr,
          std::vector<std::byte>(is_mirrored ? static_cast<size_t>(variable.type.bytes()) : 0)};
}

StateStore& StateStore::part_on(Backend* backend, const std::string& name) {
  std::unique_ptr<StateStore>& part = parts_[name];
  if (!part) part.reset(new StateStore(backend));
  return *part;
}

bool StateStore::lies_elsewhere(std::string_view tensor) const {
  return std::ranges::any_of(elsewhere_, [&](const std::string& prefix) { return tensor.starts_with(prefix); });
}

void StateStore::take(const StateStore& from, bool slots) {
  from.download();
  download();
  for (auto& [name, entry] : entries_) {
    const auto at = from.entries_.find(name);
    if (at == from.entries_.end() || (entry.variable.kind == VariableKind::slot && !slots)) continue;
    if (!(at->second.variable.type == entry.variable.type))
      throw InternalError(fmt::format("copies of {} have different types: {} and {}", name,
                                      to_string(entry.variable.type), to_string(at->second.variable.type)));
    std::memcpy(entry.host(), at->second.host(), entry.bytes());
  }
  upload();
}

void StateStore::zero_slots() {
  download();
  for (auto& [name, entry] : entries_)
    if (entry.variable.kind == VariableKind::slot && !name.starts_with(kLossScale))
      std::memset(entry.host(), 0, entry.bytes());
  upload();
}

void StateStore::initialise(uint32_t seed) {
  for (auto& [name, part] : parts_) part->initialise(seed);
  for (auto& [name, entry] : entries_) {
    std::memset(entry.host(), 0, entry.bytes());
    if (!entry.variable.flat)
      store_values(entry.variable.type.dtype, entry.host(), initial_value(entry.variable, seed).data);
  }
  initialise_parameters(seed);
  upload();
}

void StateStore::initialise_parameters(uint32_t seed) {
  if (!has(kFlatParameters)) return;
  std::byte* flat = entries_.at(kFlatParameters).host();
  const auto initialise_one = [&](size_t i) {
    const Segment& segment = space_.segments[i];
    Variable parameter{segment.name, segment.type, VariableKind::parameter, segment.role, segment.init, {}, 0};
    store_values(space_.dtype, flat + segment.offset * size_of(space_.dtype), initial_value(parameter, seed).data);
  };
  run_side_by_side(space_.segments.size(), static_cast<size_t>(usable_processors()), initialise_one);
}

// Returns whether a vector has tensors that lie in another order in the backend's memory than in the mirror.
bool StateStore::is_reordered(const Entry& entry) const {
  return entry.variable.flat &&
         std::ranges::any_of(space_.segments, [](const Segment& segment) { return !segment.order.empty(); });
}

// Writes a flat vector's elements to `to` in another order: the backend's for `outward`, else row-major.
void StateStore::reorder(const Entry& entry, const std::byte* from, std::byte* to, bool outward) const {
  const auto size = static_cast<size_t>(size_of(space_.dtype));
  std::memcpy(to, from, entry.bytes());
  const FlatVector& flat = *entry.variable.flat;
  for (const Segment& segment : space_.segments) {
    const int64_t begin = segment.offset - flat.offset;
    if (segment.order.empty() || begin < 0 || begin >= entry.variable.type.elements()) continue;
    for_each_place(segment, [&](int64_t place, int64_t element) {
      const auto outside = static_cast<size_t>(begin + place), inside = static_cast<size_t>(begin + element);
      std::memcpy(to + (outward ? outside : inside) * size, from + (outward ? inside : outside) * size, size);
    });
  }
}

void StateStore::upload() {
  for (auto& [name, entry] : entries_) {
    if (!entry.is_mirrored()) continue;
    std::vector<std::byte> ordered;
    if (is_reordered(entry)) {
      ordered.resize(entry.bytes());
      reorder(entry, entry.host(), ordered.data(), true);
    }
    backend_->upload(entry.memory->data(), ordered.empty() ? entry.host() : ordered.data(), entry.memory->bytes());
  }
}

void StateStore::download() const {
  for (const auto& [name, entry] : entries_) {
    if (!entry.is_mirrored()) continue;
    backend_->download(entry.host(), entry.memory->data(), entry.memory->bytes());
    if (!is_reordered(entry)) continue;
    const std::vector<std::byte> ordered(entry.host(), entry.host() + entry.bytes());
    reorder(entry, ordered.data(), entry.host(), false);
  }
}

void StateStore::refresh() const {
  download();
  for (const auto& [name, part] : parts_) part->refresh();
}

std::byte* StateStore::data(const std::string& name) {
  auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.memory) throw InternalError("the store has no variable " + name);
  return at->second.memory->data();
}

std::vector<TensorView> StateStore::own_views(bool slots) const {
  download();
  std::vector<TensorView> views;
  for (const auto& [name, entry] : entries_) {
    const bool slot = entry.variable.kind == VariableKind::slot;
    if (slot && !slots) continue;
    const std::byte* data = entry.host();
    if (!entry.variable.flat) {
      views.emplace_back(name, entry.variable.type, data, slot);
      continue;
    }
    const FlatVector& flat = *entry.variable.flat;
    const int64_t end = flat.offset + entry.variable.type.elements();
    for (const Segment& segment : space_.segments)
      if (segment.offset >= flat.offset && segment.offset < end)
        views.emplace_back(canonical_name(flat, segment), segment.type,
                           data + (segment.offset - flat.offset) * size_of(space_.dtype), slot);
  }
  std::ranges::sort(views, {}, &TensorView::name);
  return views;
}

std::vector<TensorView> StateStore::views(bool slots) const {
  std::vector<TensorView> views = own_views(slots);
  if (!slots || parts_.empty()) return views;
  for (const auto& [prefix, part] : parts_)
    for (const TensorView& view : part->views())
      views.emplace_back(prefix + "." + view.name, view.type, view.data, true);
  std::ranges::sort(views, {}, &TensorView::name);
  return views;
}

std::vector<NamedTensor> StateStore::canonical(bool slots) const {
  std::vector<NamedTensor> result;
  for (const TensorView& view : views(slots))
    result.push_back({view.name, view.type, {view.data, view.data + view.type.bytes()}});
  return result;
}

std::vector<std::string> StateStore::load(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, TensorView> places;
  for (TensorView& view : views()) places.emplace(view.name, view);
  std::vector<std::string> unknown;
  for (const NamedTensor& tensor : tensors) {
    auto at = places.find(tensor.name);
    if (at == places.end()) {
      unknown.push_back(tensor.name);
      continue;
    }
    bool whole = static_cast<int64_t>(tensor.data.size()) == tensor.type.bytes();
    if (!(at->second.type == tensor.type) || !whole)
      throw Error(fmt::format("tensor {}: expected {}, got {} in {} bytes", tensor.name, to_string(at->second.type),
                              to_string(tensor.type), tensor.data.size()));
  }
  for (const NamedTensor& tensor : tensors)
    if (auto at = places.find(tensor.name); at != places.end())
      std::copy(tensor.data.begin(), tensor.data.end(),
                const_cast<std::byte*>(at->second.data));  // the store's own memory, so it may be written
  upload();
  for (auto& [name, part] : parts_) part->upload();
  return unknown;
}

TensorView::TensorView(const NamedTensor& tensor) : TensorView(tensor.name, tensor.type, tensor.data.data()) {
  ensure(std::ssize(tensor.data) == type.bytes(), "a tensor's data is not of its type's size");
}

std::vector<TensorView> views_of(std::span<const NamedTensor> tensors) {
  std::vector<TensorView> views;
  for (const NamedTensor& tensor : tensors) views.emplace_back(tensor);
  return views;
}

std::string state_sha256(std::span<const TensorView> tensors) {
  Sha256 hash;
  for (const TensorView& tensor : tensors) {
    hash.update_field(tensor.name);
    hash.update_field(fmt::format("{}[{}]", name(tensor.type.dtype), fmt::join(tensor.type.shape, ",")));
    hash.update(tensor.data, static_cast<size_t>(tensor.type.bytes()));
  }
  return hash.hex();
}

}  // namespace kb
