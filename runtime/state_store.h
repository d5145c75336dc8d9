// The state of a run that lives from step to step: parameters, optimizer slots and running statistics. It lies outside
// every arena, in the backend's memory. The training program fixes the layout; inference programs adopt it.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "runtime/backend.h"

namespace kb {

// One tensor in canonical form: PyTorch's name, shape and layout, padding excluded.
struct NamedTensor {
  std::string name;  // "conv1.weight", "bn1.running_mean", "velocity.conv1.weight" (slot before the parameter's name)
  Type type;
  std::vector<std::byte> data;  // row-major
};

// The name, type and flag of a canonical tensor, and the address of its bytes, which another object owns.
struct TensorView {
  std::string name;
  Type type;
  const std::byte* data = nullptr;
  bool slot = false;  // optimizer state

  TensorView(std::string tensor_name, Type tensor_type, const std::byte* bytes, bool is_slot = false)
      : name(std::move(tensor_name)), type(std::move(tensor_type)), data(bytes), slot(is_slot) {}
  // The tensor must outlive the view. Throws InternalError if the data does not have the type's size.
  explicit TensorView(const NamedTensor& tensor);
};
std::vector<TensorView> views_of(std::span<const NamedTensor> tensors);

// Returns the SHA-256, in hexadecimal, over names, types and bytes of the tensors in the order of their names.
std::string state_sha256(std::span<const TensorView> tensors);

class StateStore {
 public:
  explicit StateStore(Backend& backend) : backend_(&backend) {}

  // Tells whether a store keeps variables of `kind`. A session keeps tables and prepared copies, which it makes itself.
  static bool keeps(VariableKind kind);

  // Return a store for another copy of the variables, which is made at the first call. Its tensors are optimizer state
  // of this store, under their names behind "NAME.". A host_part() lies in the host's memory alone, where no session
  // works on it.
  StateStore& part(const std::string& name) { return part_on(backend_, name); }
  StateStore& host_part(const std::string& name) { return part_on(nullptr, name); }
  // Notes that another process has the part of this name: lies_elsewhere() knows its tensors, and load() fits none.
  void part_lies_elsewhere(const std::string& name) { elsewhere_.insert(name + "."); }
  bool lies_elsewhere(std::string_view tensor) const;
  // Sets the variables that `from` has too, to its values; the slots only if `slots`.
  void take(const StateStore& from, bool slots);
  // Sets the slots of update rules to 0, and leaves the loss scale of f16, which is no such slot.
  void zero_slots();

  // Adds the variables that are missing, filled with zeros. The first space that is not empty is kept, and every later
  // one must equal it. Throws Error if a variable exists with another type.
  void adopt(const std::vector<Variable>& variables, const ParameterSpace& space);
  // Sets initial values of all variables, which depend only on `seed` and the variables' names.
  void initialise(uint32_t seed);

  // Returns a variable's address in the backend's memory.
  std::byte* data(const std::string& name);
  bool has(const std::string& name) const { return entries_.contains(name); }
  const ParameterSpace& space() const { return space_; }

  // Returns parameters, slots (if `slots`) and running statistics, sorted by name. Views are valid until the next
  // adopt. They show the values of this call, and of every later `refresh`; if the host can read the backend's memory,
  // they show that memory itself.
  std::vector<TensorView> views(bool slots = true) const;
  // Waits for the device, and copies its values to the memory that views show.
  void refresh() const;
  std::vector<NamedTensor> canonical(bool slots = true) const;
  // Sets the store to canonical tensors; returns the names of those that fit no variable. Throws Error for another
  // shape or dtype, and then has changed nothing.
  std::vector<std::string> load(const std::vector<NamedTensor>& tensors);
  std::string state_sha256() const { return kb::state_sha256(views()); }
  // Returns the hash of the variables without those of parts, which differ between processes.
  std::string own_sha256() const { return kb::state_sha256(own_views(true)); }

 private:
  struct Entry {
    Variable variable;
    std::unique_ptr<DeviceMemory> memory;   // null in a store that lies in the host's memory alone
    mutable std::vector<std::byte> mirror;  // the host's copy; empty if it can read `memory`
    std::byte* host() const { return mirror.empty() ? memory->data() : mirror.data(); }
    size_t bytes() const { return static_cast<size_t>(variable.type.bytes()); }
    bool is_mirrored() const { return memory && !mirror.empty(); }
  };
  explicit StateStore(Backend* backend) : backend_(backend) {}
  StateStore& part_on(Backend* backend, const std::string& name);
  std::vector<TensorView> own_views(bool slots) const;
  Entry make_entry(const Variable& variable) const;
  void initialise_parameters(uint32_t seed);
  // Move the values of this store, without its parts, between the backend's memory and the host's.
  void download() const;
  void upload();
  bool is_reordered(const Entry& entry) const;
  void reorder(const Entry& entry, const std::byte* from, std::byte* to, bool outward) const;
  void adopt_space(const ParameterSpace& space);

  Backend* const backend_;  // null: the store lies in the host's memory alone
  ParameterSpace space_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::unique_ptr<StateStore>> parts_;
  std::set<std::string> elsewhere_;  // prefixes of the tensors of parts that other processes have
};

}  // namespace kb
